package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	hangUUID = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	hangHex  = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
)

// brokenServer is a real ZooKeeper server with sessions that act like broken clients.
type brokenServer struct {
	t     *testing.T
	addr  string
	conns []*zk.Conn
}

func (w *brokenServer) session() *zk.Conn {
	w.t.Helper()
	conn := servertest.ConnectZooKeeper(w.t, w.addr, 30*time.Second)
	w.conns = append(w.conns, conn)
	return conn
}

func (w *brokenServer) create(conn *zk.Conn, path, data string, flags int32) string {
	w.t.Helper()
	made, err := conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	return made
}

func (w *brokenServer) watch(conn *zk.Conn, path string) {
	w.t.Helper()
	if _, _, _, err := conn.GetW(path); err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
}

// join makes a client contend under a name, optionally followed by = and data, and watch another
// node. SESSION stands for the client's session.
func (w *brokenServer) join(conn *zk.Conn, name, watches string, flags int32) string {
	w.t.Helper()
	name, data, given := strings.Cut(strings.ReplaceAll(name, "SESSION", w.sessionOf(conn)), "=")
	if !given {
		data = "client"
	}
	made := w.create(conn, name, data, flags|zk.FlagSequence)
	if watches != "" {
		w.watch(conn, watches)
	}
	return made
}

// sessionOf returns a client's session in decimal, once it has one.
func (w *brokenServer) sessionOf(conn *zk.Conn) string {
	w.t.Helper()
	if _, _, err := conn.Exists("/"); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(conn.SessionID())
}

// hangInQueues makes queues of each library: a holder without a session and two waiters, a hung
// holder with one waiter, and queues in use.
func hangInQueues(z *brokenServer, hung, next, third *zk.Conn) (hangs []string) {
	const uuid, hex = hangUUID, hangHex
	for _, k := range []struct{ name, first, waits string }{
		{"kazoo", hex + "__lock__", hex + "__lock__"},
		{"kazoo-read", hex + "__rlock__", hex + "__lock__"},
		{"curator", "_c_" + uuid + "-lock-", "_c_" + uuid + "-lock-"},
		{"curator-write", "_c_" + uuid + "-__WRIT__", "_c_" + uuid + "-__READ__"},
		{"curator-read", "_c_" + uuid + "-__READ__", "_c_" + uuid + "-__WRIT__"},
		{"go-zookeeper", "_c_" + hex + "-lock-", "_c_" + hex + "-lock-"},
		{"hbase", "write-rs1:16020=PBUF", "write-rs2:16020=PBUF"},
		// Without a session these are only possible locks, so no command is advised.
		{"zookeeper-recipes", "x-SESSION-", "x-SESSION-"},
		{"zk-ruby", "ex", "ex"},
	} {
		for _, place := range []struct {
			dir    string
			flags  int32
			behind []*zk.Conn
		}{
			{"/left/stuck-", 0, []*zk.Conn{next, third}},
			{"/left/used-", zk.FlagEphemeral, []*zk.Conn{next, third}},
			{"/hung/stuck-", zk.FlagEphemeral, []*zk.Conn{next}},
			{"/hung/used-", zk.FlagEphemeral, nil},
		} {
			if (k.name == "zookeeper-recipes" || k.name == "zk-ruby") && place.flags == 0 {
				continue
			}
			dir := z.create(hung, place.dir+k.name, "", 0)
			last := z.join(hung, dir+"/"+k.first, "", place.flags)
			for i, conn := range place.behind {
				watches := last
				if k.name == "curator-write" && i == 1 { // readers wait for the writer, not for each other
					watches = dir + "/" + childrenInOrder(z.t, conn, dir)[0]
				}
				last = z.join(conn, dir+"/"+k.waits, watches, zk.FlagEphemeral)
			}
			if strings.Contains(dir, "stuck") {
				hangs = append(hangs, "zk:"+dir)
			}
		}
	}
	return hangs
}

// hangInZooKeeper makes hanging locks next to locks in use of the same kinds, and returns the ids
// of the hanging ones.
func hangInZooKeeper(z *brokenServer) (hangs []string) {
	const uuid, hex = hangUUID, hangHex
	hung, next, third := z.session(), z.session(), z.session()
	for _, dir := range []string{"/left", "/hung"} {
		z.create(hung, dir, "", 0)
	}
	hangs = hangInQueues(z, hung, next, third)
	for _, name := range []string{hex + "__lock__", "_c_" + uuid + "-lock-"} { // a client that waits for itself
		dir := z.create(hung, fmt.Sprintf("/hung/stuck-self-%d", len(hangs)), "", 0)
		z.join(hung, dir+"/"+name, z.join(hung, dir+"/"+name, "", zk.FlagEphemeral), zk.FlagEphemeral)
		hangs = append(hangs, "zk:"+dir)
	}
	for _, kind := range []string{"stuck", "used"} { // a leaked permit of kazoo's semaphore
		dir := z.create(hung, "/hung/"+kind+"-permit", "1", 0)
		z.create(hung, dir+"/"+hex, "client", zk.FlagEphemeral)
		queue := z.create(hung, dir+"-__lock__", "", 0)
		if kind == "stuck" {
			z.join(next, queue+"/"+hex+"__lock__", "", zk.FlagEphemeral)
			hangs = append(hangs, "zk:"+dir)
		}
	}
	ghost, cut := cuttable(z.t, z.addr, 10*time.Minute)
	dir := z.create(hung, "/left/stuck-ghost", "", 0)
	z.join(next, dir+"/"+hex+"__lock__", z.join(ghost, dir+"/"+hex+"__lock__", "", zk.FlagEphemeral), zk.FlagEphemeral)
	cut()
	hangs = append(hangs, "zk:"+dir, z.revocable(hung, next))
	one, two := z.session(), z.session() // a deadlock
	a, b := z.create(one, "/left/stuck-a", "", 0), z.create(one, "/left/stuck-b", "", 0)
	ofOne, ofTwo := z.join(one, a+"/"+hex+"__lock__", "", zk.FlagEphemeral), z.join(two, b+"/"+hex+"__lock__", "", zk.FlagEphemeral)
	z.join(two, a+"/"+hex+"__lock__", ofOne, zk.FlagEphemeral)
	z.join(one, b+"/"+hex+"__lock__", ofTwo, zk.FlagEphemeral)
	return append(hangs, "zk:"+a, "zk:"+b)
}

// cuttable returns a client whose connection can be cut for good. Its session then times out.
func cuttable(t *testing.T, addr string, timeout time.Duration) (client *zk.Conn, cut func()) {
	t.Helper()
	connected, cut := context.WithCancel(context.Background())
	dial := func(network, at string, limit time.Duration) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: limit}).DialContext(connected, network, at)
		if err == nil {
			context.AfterFunc(connected, func() { conn.Close() })
		}
		return conn, err
	}
	quiet := zk.WithLogger(log.New(io.Discard, "", 0))
	client, _, err := zk.Connect([]string{addr}, timeout, quiet, zk.WithDialer(dial))
	must.Succeed(t, err)
	t.Cleanup(client.Close)
	t.Cleanup(cut) // before it is closed
	return client, cut
}

// revocable is a Curator lock whose holder releases it when asked (makeRevocable).
func (w *brokenServer) revocable(holder, waiter *zk.Conn) (id string) {
	w.t.Helper()
	const name = "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lock-"
	dir := w.create(holder, "/hung/stuck-revocable", "", 0)
	first := w.create(holder, dir+"/"+name, "", zk.FlagEphemeral|zk.FlagSequence)
	w.create(waiter, dir+"/"+name, "", zk.FlagEphemeral|zk.FlagSequence)
	w.watch(waiter, first)
	_, _, asked, err := holder.GetW(first)
	must.Succeed(w.t, err)
	done := make(chan struct{})
	w.t.Cleanup(func() { holder.Close(); <-done })
	go func() {
		defer close(done)
		<-asked // or the connection ends
		if data, _, err := holder.Get(first); err == nil && string(data) == "__REVOKE__" {
			_ = holder.Delete(first, -1) // the test checks whether it is gone
		}
	}()
	return "zk:" + dir
}

// childrenInOrder lists a directory by sequence number.
func childrenInOrder(t *testing.T, conn *zk.Conn, dir string) []string {
	t.Helper()
	children, _, err := conn.Children(dir)
	must.Succeed(t, err)
	slices.SortFunc(children, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return children
}

// znodesInUse maps all znodes, except the first of each hanging lock, to their creation and data.
func znodesInUse(t *testing.T, conn *zk.Conn, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		children, _, err := conn.Children(dir)
		must.Succeed(t, err)
		for _, child := range children {
			path := strings.TrimSuffix(dir, "/") + "/" + child
			data, stat, err := conn.Get(path)
			must.Succeed(t, err)
			first := strings.HasSuffix(child, "0000000000") || len(child) == 32
			if path != "/zookeeper" && !(first && strings.Contains(dir, "stuck") && !strings.Contains(dir, "-__lock__")) {
				all["zk:"+path] = fmt.Sprintf("%d %d %#x %q", stat.Czxid, stat.Version, stat.EphemeralOwner, data)
			}
			walk(path)
		}
	}
	walk(root)
	return all
}

// redisMasters has masters with hanging locks and locks in use.
type redisMasters struct {
	addrs   []string
	masters []*redis.Client
	hangs   []string
}

// startRedisMasters starts masters with a client each.
func startRedisMasters(t *testing.T, n int) *redisMasters {
	t.Helper()
	h := &redisMasters{}
	for range n {
		s := servertest.StartRedis(t)
		c := s.Client(t)
		h.addrs, h.masters = append(h.addrs, s.Addr), append(h.masters, c)
	}
	return h
}

func (h *redisMasters) target(options string) string {
	return "redis://" + strings.Join(h.addrs, ",") + "?" + options
}

// redisHang is a hanging lock and the same lock in use, as Redis commands separated by semicolons.
// NAME is the lock's name.
type redisHang struct{ lock, stuck, used string }

func redisHangs() []redisHang {
	const (
		uuidA, uuidB = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718", "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
		guid         = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
		a, b         = uuidA + ":1", uuidB + ":9"
		job          = "3fae29d0c1b24e5f9a7b6c8d"
	)
	var list []redisHang
	for _, l := range recipe.StringLocks() { // without a TTL
		if recipe.DecodeToken(l.Key, l.Value).Confidence == recipe.Possible {
			continue
		}
		key := strings.Replace(l.Key, "NAME", "NAME-"+l.Name, 1)
		set := "SET " + key + " " + l.Value
		list = append(list, redisHang{key, set, set + " PX 3600000"})
	}
	fair := "HSET lock:NAME-fair " + a + " 1;PEXPIRE lock:NAME-fair 3600000"
	readers := "HSET lock:NAME-rw mode read " + a + " 1 " + b + " 1;PEXPIRE lock:NAME-rw 3600000;SET {lock:NAME-rw}:" + b + ":rwlock_timeout:1 1 PX 3600000"
	return append(list,
		redisHang{"lock:NAME-hash", "HSET lock:NAME-hash " + a + " 1", "HSET lock:NAME-hash " + a + " 1;PEXPIRE lock:NAME-hash 3600000"},
		redisHang{"lock:NAME-m.writer", "SADD lock:NAME-m.readers WEB_1_" + guid + ";SET lock:NAME-m.writer WEB_2_" + guid + "_WRITERWAITING PX 3600000", "SET lock:NAME-m.writer WEB_2_" + guid + " PX 3600000"},
		redisHang{"rueidislock:0:NAME", "SET rueidislock:0:NAME 0123456789abcdefghijklmn;SET rueidislock:1:NAME 0123456789abcdefghijklmn;SET rueidislock:2:NAME 0123456789abcdefghijklmn", ""},
		redisHang{"uniquejobs:DIGEST:LOCKED", "HSET uniquejobs:DIGEST:LOCKED " + job + " 1763715600.5;SET uniquejobs:DIGEST " + job, ""},
		// A fair queue whose head died long ago, and two readers, one of them dead.
		redisHang{"lock:NAME-fair", fair + ";RPUSH redisson_lock_queue:{lock:NAME-fair} " + b + ";ZADD redisson_lock_timeout:{lock:NAME-fair} 1000 " + b, fair},
		redisHang{"lock:NAME-rw", readers, readers + ";SET {lock:NAME-rw}:" + a + ":rwlock_timeout:1 1 PX 3600000"},
	)
}

func (h *redisMasters) hang(t *testing.T, list []redisHang) {
	t.Helper()
	for _, l := range list {
		for name, commands := range map[string]string{"stuck": l.stuck, "used": l.used} {
			named := strings.NewReplacer("NAME", name, "DIGEST", strings.Repeat("5d41402a", 4))
			for command := range strings.SplitSeq(commands, ";") {
				if command != "" {
					h.do(t, 0, named.Replace(command))
				}
			}
			if name == "stuck" {
				h.hangs = append(h.hangs, "redis:"+named.Replace(l.lock))
			}
		}
	}
}

func (h *redisMasters) do(t *testing.T, master int, command string) {
	t.Helper()
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	must.Succeed(t, h.masters[master].Do(t.Context(), args...).Err())
}

// hangOnSeveral leaves values without a quorum, a value on all masters that never expires, and
// locks in use.
func (h *redisMasters) hangOnSeveral(t *testing.T) {
	t.Helper()
	const a, b, c = "YWFhYWFhYWFhYWFhYWFhYQ==", "YmJiYmJiYmJiYmJiYmJiYg==", "Y2NjY2NjY2NjY2NjY2NjYw=="
	for key, values := range map[string][3]string{
		"lock:stuck-one": {a + " PX 3600000"}, "lock:stuck-forever": {"", b}, "lock:stuck-split": {a, b + " PX 3600000", c + " PX 3600000"},
		"lock:stuck-all": {a, a, a}, "lock:used-all": {a + " PX 3600000", a + " PX 3600000", a + " PX 3600000"}, "lock:used-two": {b + " PX 3600000", b + " PX 3600000", b + " PX 3600000"},
	} {
		for i, v := range values {
			if v != "" {
				h.do(t, i, "SET "+key+" "+v)
			}
		}
		if strings.Contains(key, "stuck") {
			h.hangs = append(h.hangs, "three:"+key)
		}
	}
}

// keysInUse adds all keys of locks in use, and the live clients of hanging locks, with their values
// and whether they expire.
func (h *redisMasters) keysInUse(t *testing.T, all map[string]string) {
	t.Helper()
	ctx := context.Background()
	for i, m := range h.masters {
		keys := must.Have(m.Keys(ctx, "*used*").Result())(t)
		for _, key := range keys {
			ttl := m.PTTL(ctx, key).Val()
			all[h.addrs[i]+" "+key] = fmt.Sprintf("%q %v", m.Dump(ctx, key).Val(), ttl > 50*time.Minute)
		}
		live := m.HGetAll(ctx, "lock:stuck-rw").Val()
		delete(live, "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:1") // the dead reader
		text, _ := json.Marshal(live)
		all[h.addrs[i]+" live readers"] = string(text)
		all[h.addrs[i]+" holder of the fair lock"] = fmt.Sprint(m.HGetAll(ctx, "lock:stuck-fair").Val())
		if len(h.masters) == 3 {
			all[h.addrs[i]+" other votes"] = fmt.Sprintf("%q", m.Get(ctx, "lock:stuck-split").Val())
			if i == 0 { // the vote that never expires gets released
				delete(all, h.addrs[i]+" other votes")
			}
		}
	}
}
