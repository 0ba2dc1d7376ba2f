package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// clientCase is a server with connections of other clients, and an Ender of them.
type clientCase struct {
	*testing.T
	addr  string
	ender *Redis
}

func startClients(t *testing.T) *clientCase {
	server, _, ender := onOneMaster(t)
	return &clientCase{t, server.Addr, ender}
}

// otherClient is a client with a single connection.
type otherClient struct {
	*redis.Conn
	pool *redis.Client
	addr string
}

func (c *clientCase) open(name string) (otherClient, error) {
	pool := redis.NewClient(&redis.Options{Addr: c.addr, ClientName: name, MaxRetries: -1, ReadTimeout: time.Minute})
	c.Cleanup(func() { pool.Close() })
	conn := pool.Conn()
	info, err := conn.ClientInfo(c.Context()).Result()
	if err != nil {
		return otherClient{}, err
	}
	return otherClient{conn, pool, info.Addr}, nil
}

func (c *clientCase) connect(name string) otherClient {
	c.Helper()
	return must.Have(c.open(name))(c)
}

func (c *clientCase) preview(client string) ClientPreview {
	c.Helper()
	request := ClientRequest{Backend: "redis", Client: client, Why: "a test"}
	return must.Have(c.ender.PreviewEnd(c.Context(), request))(c)
}

// Only the connection seen in the preview is killed.
func TestClientConnectionIsEnded(t *testing.T) {
	t.Parallel()
	c := startClients(t)
	victim, bystander := c.connect("worker-1"), c.connect("worker-2")
	_, err := c.ender.Connections(t.Context(), 1)
	must.Be(t, err, ErrRefused, "a list of three")
	must.Equal(t, len(must.Have(c.ender.Connections(t.Context(), 3))(t)), 3, "connections")
	p := c.preview(victim.addr)
	r := must.Have(c.ender.EndClient(t.Context(), p, "--yes"))(t)
	must.True(t, r.Reason == "" && len(r.Ended) == 1 && r.Ended[0].Name == "worker-1", r)
	must.True(t, victim.Ping(t.Context()).Err() != nil, "the killed connection still works")
	must.Be(t, bystander.Ping(t.Context()).Err(), nil, "the other connection")
	r = must.Have(c.ender.EndClient(t.Context(), p, "--yes"))(t)
	must.True(t, r.Reason == Changed && len(r.Ended) == 0, "killed again:", r)
}

// A client is killed while it disconnects and another of the same name connects. Only the seen
// connection is killed, and reported so only if we did it.
func TestEndingClientsInRaces(t *testing.T) {
	t.Parallel()
	c := startClients(t)
	bystander := c.connect("worker")
	pace, ended := racePace{}, 0
	for i := range *tries {
		leaving := c.connect("worker")
		p := c.preview(leaving.addr)
		must.Equal(t, p.Refused, "", "refused")
		var coming otherClient
		var result ClientResult
		var failed error
		_, err := pace.run(func() {
			leaving.pool.Close()
			coming, failed = c.open("worker")
		}, func() (_ Result, err error) {
			result, err = c.ender.EndClient(t.Context(), p, "--yes")
			return Result{}, err
		})
		must.Succeed(t, errors.Join(err, failed))
		if result.Unknown || (len(result.Ended) == 0) == (result.Reason == "") || result.Reason != "" && result.Reason != Changed {
			t.Fatalf("try %d: %+v", i, result)
		}
		if len(result.Ended) == 1 && result.Ended[0].ID != p.Seen[0].ID {
			t.Fatalf("try %d: ended %+v, seen %+v", i, result.Ended, p.Seen)
		}
		if err := errors.Join(bystander.Ping(t.Context()).Err(), coming.Ping(t.Context()).Err()); err != nil {
			t.Fatalf("try %d: another connection was killed: %v", i, err)
		}
		ended += len(result.Ended)
		coming.pool.Close()
	}
	t.Logf("%d races, %d connections killed", *tries, ended)
}

// The preview names the locks that the client holds and waits for on that backend.
func TestAClientsLocksAreNamed(t *testing.T) {
	p := ClientPreview{Request: ClientRequest{Backend: "redis", Client: "10.0.0.1:1"}, Seen: []Connection{{Addr: "10.0.0.1:1"}}}
	mine := inspect.Contender{Name: "v", State: inspect.Holding, Owner: inspect.Owner{Client: "10.0.0.1:1"}}
	waits := mine
	waits.State = inspect.Waiting
	backends := []*inspect.Backend{{Name: "redis", State: inspect.Connected, FirstPass: true}}
	s := inspect.NewSnapshot(time.Now(), backends, []*inspect.Lock{
		{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Holders: []inspect.Contender{mine, mine}},
		{ID: inspect.ID{Backend: "redis", Path: "lock:b"}, Waiters: []inspect.Contender{waits}},
		{ID: inspect.ID{Backend: "redis", Path: "lock:c"}, Holders: []inspect.Contender{{Owner: inspect.Owner{Client: "10.9.9.9:1"}}}},
		{ID: inspect.ID{Backend: "other", Path: "lock:d"}, Holders: []inspect.Contender{mine}},
		{
			ID:      inspect.ID{Backend: "redis", Path: "lock:e"},
			Holders: []inspect.Contender{{Owner: inspect.Owner{Client: "10.0.0.1"}}, {}},
		},
	})
	p.Consider(s)
	must.Same(t, p.Lines(), []string{
		"it holds redis:lock:a", "it waits for redis:lock:b",
		"its host has, through this or another connection, redis:lock:e",
	})
	p = ClientPreview{Request: ClientRequest{Backend: "redis", Client: "0x1"}}
	p.Consider(s)
	const none = "no lock is known to belong to it: most libraries' values do not name the connection"
	must.Same(t, p.Lines(), []string{none})
	for _, b := range []inspect.Backend{
		{Name: "redis", State: inspect.Connected}, {Name: "redis", FirstPass: true}, {Name: "other"},
	} {
		p.Consider(inspect.NewSnapshot(time.Now(), []*inspect.Backend{&b}, nil))
		must.Equal(t, p.Read, false, b)
	}
	p = ClientPreview{}
	p.Consider(nil)
	must.Same(t, p.Lines(), []string{"not all locks could be read: it may hold others"})
}

func TestZooKeeperSessionsAreNotEnded(t *testing.T) {
	z := &ZooKeeper{}
	p := must.Have(z.PreviewEnd(t.Context(), ClientRequest{Backend: "zk", Client: "0x1"}))(t)
	must.Equal(t, p.Refused, Unsupported, "refused")
	must.Equal(t, p.Detail, "only a client can close its ZooKeeper session: closing it needs the session's password. "+
		"AdminServer has no such command; JMX on the server's own host has one (ConnectionMXBean.terminateSession). "+
		"Stop the client's process, or release its lock")
	r := must.Have(z.EndClient(t.Context(), p, "typed"))(t)
	must.Equal(t, r.Detail, p.Detail, "detail")
	must.Equal(t, r.Reason, Unsupported, "reason")
}

// The most likely connection comes first. Replica links and connections running CLIENT LIST are
// left out.
func TestLikeliestCandidateComesFirst(t *testing.T) {
	var list []Connection
	for _, line := range []string{
		"id=1 addr=10.0.0.1:1 name= age=900 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=2 addr=10.0.0.2:1 name=web1-pool age=900 idle=1 flags=N cmd=get lib-name= lib-ver=",
		"id=3 addr=10.0.0.3:1 name= age=5 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=4 addr=10.0.0.4:1 name= age=299 idle=1 flags=N cmd=evalsha lib-name=jedis lib-ver=4",
		"id=5 addr=10.0.0.5:1 name= age=900 idle=1 flags=N cmd=get",
		"id=6 addr=10.0.0.6:1 name= age=900 idle=1 flags=S cmd=set",
		"id=7 addr=10.0.0.7:1 name= age=900 idle=0 flags=N cmd=client|list lib-name=redis-py",
		"id=8 addr=10.0.0.8:1 name= age=900 idle=0 flags=b cmd=blpop",
		"id=9 addr=10.0.0.9:1 name= db=3 age=900 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=10 addr=10.0.0.5:2 name= age=900 idle=1 flags=N cmd=client|setname",
	} {
		c, ok := parseConnection(line)
		if !ok {
			t.Fatal(line)
		}
		list = append(list, c)
	}
	weights := func(found []Candidate) (weights []string) {
		for _, c := range found {
			weights = append(weights, fmt.Sprint(c.ID, ": ", c.weight))
		}
		return weights
	}
	must.Equal(t, list[0], Connection{
		ID: 1, Addr: "10.0.0.1:1", Age: 15 * time.Minute, Idle: time.Second, Command: "set", Library: "redis-py 5.0.1",
		flags: "N",
	})
	for _, partial := range []string{"id=1 name=web", "addr=10.0.0.1:1", "id=one addr=10.0.0.1:1"} {
		_, ok := parseConnection(partial)
		must.True(t, !ok, "read", partial)
	}
	l := &inspect.Lock{Recipe: "python-redis-lock"}
	holder := &inspect.Contender{State: inspect.Holding, Owner: inspect.Owner{Process: inspect.Process{Host: "web1"}}}
	found := Candidates(l, holder, 5*time.Minute, 0, list)
	must.Same(t, weights(found), []string{"2: 9", "1: 5", "9: 3", "3: 2", "4: -2"}, "candidates for the holder")
	const library, set = "its library is redis-py 5.0.1, which python-redis-lock uses for its locks", "last command set"
	const taking, before = ", as when taking or renewing a lock", "it connected before the lock was taken or waited for"
	for i, want := range [][]string{
		{"its name contains the owner's host web1", before},
		{library, set + taking, before},
		{library, set + taking, before, "it is in database 3"},
		{library, set + taking, "it connected later, or reconnected"},
		{
			"last command evalsha" + taking, before,
			"its library is jedis 4, but python-redis-lock uses redis-py for its locks",
		},
	} {
		must.Same(t, append(found[i].For, found[i].Against...), want, found[i].ID)
	}
	custom := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: "a", Clients: []string{"Jedis"}}))(t)
	jedis := Candidates(&inspect.Lock{Recipe: "acme", Custom: &custom}, holder, 0, 0, list[3:4])[0]
	must.Equal(t, jedis.For[0], "its library is jedis 4, which acme uses for its locks")
	for commands, weight := range map[string]int{
		"set setnx eval evalsha fcall expire pexpire hset hincrby zadd exec": 1,
		"blpop brpop subscribe psubscribe ssubscribe":                        2,
	} {
		for command := range strings.FieldsSeq(commands) {
			c := Candidate{Connection: Connection{Command: inspect.Untrusted(command)}}
			c.byCommand(inspect.Waiting)
			must.Equal(t, c.weight, weight, command)
		}
	}
	waiter := &inspect.Contender{State: inspect.Waiting, Owner: inspect.Owner{Process: inspect.Process{Host: "10.0.0.5"}}}
	must.Same(t, weights(Candidates(l, waiter, 0, 0, list)),
		[]string{"1: 4", "3: 4", "5: 4", "10: 4", "8: 2", "9: 2", "4: -3"}, "candidates for a waiter")
}
