package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// zookeeper [own [LINE…]] gives the page its own path, or its own server, which has the lines in its
// configuration if it is real. It sets the target $ZK, the path $ROOT and the server's address
// $ZKADDR.
func (p *page) zookeeper(args []string) {
	switch {
	case len(args) == 0:
	case p.server.Real:
		p.server = servertest.StartZooKeeper(p.tb, args[1:]...)
	default:
		p.server = servertest.StartEmbeddedZooKeeper(p.tb, zkserver.Config{Started: time.Now().Add(-time.Hour)})
	}
	root := servertest.UniquePath(p.tb)
	p.ts.Setenv("ROOT", root)
	p.ts.Setenv("ZKADDR", p.server.Addr)
	p.ts.Setenv("ZK", "zk://"+p.server.Addr+root+"?admin="+p.server.Admin)
}

// redis [N [NAME [ARGUMENT…]]] starts masters. It sets $NAME (default: REDIS) to the
// target of all, and $NAME1, $NAME2, … to the addresses. Real servers get the arguments.
func (p *page) redis(args []string) {
	n, name := 1, "REDIS"
	if len(args) > 0 {
		var err error
		n, err = strconv.Atoi(args[0])
		p.ts.Check(err)
	}
	if len(args) > 1 {
		name = args[1]
	}
	start := servertest.StartEmbeddedRedis
	if p.server.Real {
		start = func(tb testing.TB) *servertest.Redis { return servertest.StartRedis(tb, args[min(2, len(args)):]...) }
	}
	var addrs []string
	for i := range n {
		master := start(p.tb)
		p.masters[master.Addr], p.clients[master.Addr] = master, master.Client(p.tb)
		p.ts.Setenv(fmt.Sprint(name, i+1), master.Addr)
		addrs = append(addrs, master.Addr)
	}
	p.ts.Setenv(name, "redis://"+strings.Join(addrs, ","))
}

// cluster starts a real Redis Cluster of three masters. It sets the target $CLUSTER and the
// addresses $CLUSTER1, …
func (p *page) cluster([]string) {
	for i, master := range servertest.StartRedisCluster(p.tb, 3) {
		p.masters[master.Addr], p.clients[master.Addr] = master, master.Client(p.tb)
		p.ts.Setenv(fmt.Sprint("CLUSTER", i+1), master.Addr)
		p.ts.Setenv("CLUSTER", "redis+cluster://"+master.Addr)
	}
}

func (p *page) master(addr string) *servertest.Redis {
	master := p.masters[addr]
	if master == nil {
		p.ts.Fatalf("no master has the address %q", addr)
	}
	return master
}

func (p *page) stop(args []string)    { p.master(args[0]).Stop(p.tb) }
func (p *page) restart(args []string) { p.master(args[0]).Restart(p.tb) }

// ahead NAME OFFSET starts a real master whose clock is ahead, or steps that clock. It sets $NAME
// like redis.
func (p *page) ahead(args []string) {
	offset, err := time.ParseDuration(args[1])
	p.ts.Check(err)
	if p.clocks[args[0]] == nil {
		master, clock := servertest.StartRedisWithClock(p.tb)
		p.clocks[args[0]] = clock
		p.ts.Setenv(args[0], "redis://"+master.Addr)
		p.ts.Setenv(args[0]+"1", master.Addr)
	}
	p.clocks[args[0]].Step(p.tb, offset)
}

// balancer NAME ADDRESS… starts a balancer that connects clients to the masters in turn. It sets the
// target $NAME.
func (p *page) balancer(args []string) {
	turns := func(n int) string { return args[1+n%(len(args)-1)] }
	p.ts.Setenv(args[0], "redis://"+servertest.StartBalancer(p.tb, turns))
}

// twemproxy NAME ADDRESS starts a proxy of a master. It sets the target $NAME.
func (p *page) twemproxy(args []string) {
	p.ts.Setenv(args[0], "redis://"+servertest.StartTwemproxy(p.tb, args[1]))
}

// granted ADDRESS TITLE… sets the rights that doctor --access has printed below a title. The user's
// password is sesame-x.
func (p *page) granted(args []string) {
	redisDo(p.tb, args[0], line(p.tb, p.ts.ReadFile("stdout"), strings.Join(args[1:], " "))...)
}

// login ADDRESS PASSWORD [USER] makes a master require the password.
func (p *page) login(args []string) {
	user := "default"
	if len(args) > 2 {
		user = args[2]
	}
	if master := p.master(args[0]); !master.Real {
		master.Mini.RequireUserAuth(user, args[1])
		return
	}
	words := []any{"ACL", "SETUSER", user, "on", "resetpass", ">" + args[1], "+@all", "~*", "&*"}
	client := p.clients[args[0]]
	p.ts.Check(client.Do(p.tb.Context(), words...).Err())
	if user != "default" {
		p.ts.Check(client.Do(p.tb.Context(), "ACL", "SETUSER", "default", "off").Err())
	}
}

// redisCLI ADDRESS[/DATABASE] WORD… runs one command. A word in double quotes may contain \x1b.
func (p *page) redisCLI(args []string) outcome {
	addr, database, other := strings.Cut(args[0], "/")
	client := p.clients[addr]
	if client == nil || other {
		number, _ := strconv.Atoi(database)
		client = redis.NewClient(&redis.Options{Addr: addr, DB: number})
		defer client.Close()
	}
	words := make([]any, len(args)-1)
	for i, word := range args[1:] {
		words[i] = word
		if text, err := strconv.Unquote(word); err == nil {
			words[i] = text
		}
	}
	ctx, cancel := context.WithTimeout(p.tb.Context(), pageLimit)
	defer cancel()
	reply, err := client.Do(ctx, words...).Result()
	if err != nil {
		return outcome{1, "", err.Error() + "\n"}
	}
	return outcome{0, fmt.Sprintln(reply), ""}
}

// session returns the named client, and connects it on first use.
func (p *page) session(name string) *zk.Conn {
	if p.sessions[name] == nil {
		p.sessions[name] = servertest.ConnectZooKeeper(p.tb, p.server.Addr, 30*time.Second)
	}
	return p.sessions[name]
}

// node PATH [DATA] creates a znode and its parents.
func (p *page) node(args []string) {
	if above := path.Dir(args[0]); above != "/" {
		if there, _, err := p.session("setup").Exists(above); err != nil || !there {
			p.node([]string{above})
		}
	}
	data := strings.Join(args[1:], " ")
	_, err := p.session("setup").Create(args[0], []byte(data), 0, zk.WorldACL(zk.PermAll))
	p.ts.Check(err)
}

// rmnode PATH deletes a znode.
func (p *page) rmnode(args []string) { p.ts.Check(p.session("setup").Delete(args[0], -1)) }

// clock OFFSET sets the clock of the page's own embedded ZooKeeper.
func (p *page) clock(args []string) {
	offset, err := time.ParseDuration(args[0])
	p.ts.Check(err)
	p.server.Embedded.SetClock(offset)
}

// join CLIENT PATH [DATA] lets a client contend as its library does and sets $CLIENT to the name of
// its entry. SESSION in the path stands for the number of the client's session.
func (p *page) join(args []string) { p.enter(zk.FlagEphemeral|zk.FlagSequence, args) }

// lease CLIENT PATH [DATA] is join without a sequence number.
func (p *page) lease(args []string) { p.enter(zk.FlagEphemeral, args) }

func (p *page) enter(flags int32, args []string) {
	client, dir := p.session(args[0]), path.Dir(args[1])
	if there, _, err := client.Exists(dir); err != nil || !there {
		p.node([]string{dir})
	}
	name := strings.ReplaceAll(args[1], "SESSION", fmt.Sprint(client.SessionID()))
	made, err := client.Create(name, []byte(strings.Join(args[2:], " ")), flags, zk.WorldACL(zk.PermAll))
	p.ts.Check(err)
	p.ts.Setenv(args[0], path.Base(made))
}

// queue PATH CLIENT… makes clients contend as kazoo's do, each watching the one before it.
func (p *page) queue(args []string) {
	for i, client := range args[1:] {
		p.join([]string{client, args[0] + "/" + p.ts.Getenv("KAZOO"), "client"})
		if i > 0 {
			p.watches([]string{client, args[0] + "/" + p.ts.Getenv(args[i])})
		}
	}
}

// hoard CLIENT PATH N makes a client hold N locks: PATH1, PATH2, …
func (p *page) hoard(args []string) {
	for i := range must.Have(strconv.Atoi(args[2]))(p.tb) {
		p.queue([]string{fmt.Sprint(args[1], i+1), args[0]})
	}
}

// watches CLIENT… PATH makes clients wait for an entry's deletion.
func (p *page) watches(args []string) {
	last := len(args) - 1
	for _, client := range args[:last] {
		_, _, _, err := p.session(client).ExistsW(args[last])
		p.ts.Check(err)
	}
}

// settle CLIENT PATH writes to a znode until the server has heard from the client long after the
// znode's creation. Before that, the client's watches may still be on their way.
func (p *page) settle(args []string) {
	for {
		stat, err := p.session(args[0]).Set(args[1], []byte("client"), -1)
		p.ts.Check(err)
		if stat.Mtime-stat.Ctime > 6*inspect.WatchSettle.Milliseconds() {
			return
		}
	}
}

// end CLIENT… ends their sessions.
func (p *page) end(clients []string) {
	for _, client := range clients {
		p.session(client).Close()
	}
}

// restrict PATH USER:PASSWORD:RIGHTS… sets a znode's access list. The user anyone has no password.
func (p *page) restrict(args []string) {
	var list []zk.ACL
	for _, entry := range args[1:] {
		words := strings.Split(entry, ":")
		var rights int32
		for i, letter := range aclLetters {
			if strings.ContainsRune(words[2], letter) {
				rights |= 1 << i
			}
		}
		if words[0] == "anyone" {
			list = append(list, zk.WorldACL(rights)...)
		} else {
			list = append(list, zk.DigestACL(rights, words[0], words[1])...)
		}
	}
	_, err := p.session("setup").SetACL(args[0], list, -1)
	p.ts.Check(err)
}

// aclLetters are the letters of --acl in the order of ZooKeeper's bits.
const aclLetters = "rwcda"

// children PATH prints the entries of a znode in the order of their sequence numbers.
func (p *page) children(args []string) outcome {
	list, _, err := p.session("setup").Children(args[0])
	if err != nil {
		return outcome{1, "", err.Error() + "\n"}
	}
	sort.Slice(list, func(i, j int) bool { return list[i][max(0, len(list[i])-10):] < list[j][max(0, len(list[j])-10):] })
	return outcome{0, strings.Join(append(list, ""), "\n"), ""}
}

// acl PATH prints a znode's access list in the format of --acl.
func (p *page) acl(args []string) outcome {
	list, _, err := p.session("setup").GetACL(args[0])
	if err != nil {
		return outcome{1, "", err.Error() + "\n"}
	}
	var text strings.Builder
	for _, entry := range list {
		fmt.Fprintf(&text, "%s:%s:", entry.Scheme, entry.ID)
		for i, letter := range aclLetters {
			if entry.Perms&(1<<i) != 0 {
				text.WriteRune(letter)
			}
		}
		text.WriteString("\n")
	}
	return outcome{0, text.String(), ""}
}

// four-letters WORD prints ZooKeeper's reply.
func (p *page) fourLetters(args []string) outcome {
	conn, err := net.DialTimeout("tcp", p.server.Addr, pageLimit)
	p.ts.Check(err)
	defer conn.Close()
	fmt.Fprint(conn, args[0])
	text, err := io.ReadAll(conn)
	p.ts.Check(err)
	return outcome{0, string(text), ""}
}

// get URL [HOST] prints the body of a page.
func (p *page) get(args []string) outcome {
	request, err := http.NewRequestWithContext(p.tb.Context(), http.MethodGet, args[0], nil)
	p.ts.Check(err)
	if len(args) > 1 {
		request.Host = args[1]
	}
	client := http.Client{Timeout: pageLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(request)
	p.ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	p.ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		return outcome{1, string(body), resp.Status + "\n"}
	}
	return outcome{0, string(body), ""}
}

// peer NAME LIBRARY WORD… starts a client of another library: kazoo PATH LABEL, curator, redis-py
// ADDRESS KEY, or both REDIS LABEL PATH KEY FIRST.
func (p *page) peer(args []string) {
	name, rest := args[0], args[2:]
	switch args[1] {
	case "kazoo":
		p.peers[name] = servertest.StartKazoo(p.tb, p.server.Addr, rest[0], rest[1])
	case "curator":
		p.peers[name] = servertest.StartCurator(p.tb, p.server.Addr)
	case "redis-py":
		p.peers[name] = servertest.StartRedisPy(p.tb, rest[0], rest[1])
	case "both":
		p.peers[name] = servertest.StartOnBoth(p.tb, p.server.Addr, rest[0], rest[1], rest[2], rest[3], rest[4] == "redis")
	default:
		p.ts.Fatalf("no library %q", args[1])
	}
}

// expect NAME WORD… waits for a peer's next line, which must start with the words.
func (p *page) expect(args []string) { p.peers[args[0]].Expect(p.tb, strings.Join(args[1:], " ")) }

// tell NAME WORD… sends a line to a peer.
func (p *page) tell(args []string) { p.peers[args[0]].Send(p.tb, args[1:]...) }

// crash ends a master, or a peer together with its session, without warning.
func (p *page) crash(args []string) {
	if peer := p.peers[args[0]]; peer != nil {
		peer.Expire(p.tb)
		return
	}
	p.master(args[0]).Kill(p.tb)
}
