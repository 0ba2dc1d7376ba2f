package act

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Only the connection seen in the preview is killed. One that is gone, was renamed, or is a replica
// link is left alone.
func TestClientConnectionIsEnded(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	ours := server.Client(t)
	ender := onMaster(t, ours, server.Addr)
	path := ender.audit.path
	other := func(name string) (client *redis.Conn, addr string) {
		c := redis.NewClient(&redis.Options{Addr: server.Addr, ClientName: name, MaxRetries: -1, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		conn := c.Conn()
		t.Cleanup(func() { conn.Close() })
		info := must.Have(conn.ClientInfo(t.Context()).Result())(t)
		return conn, info.Addr
	}
	victim, addr := other("worker-1")
	bystander, _ := other("worker-2")
	preview := func(client string) ClientPreview {
		t.Helper()
		return must.Have(ender.PreviewEnd(t.Context(), ClientRequest{Backend: "redis", Client: client, Why: "a test"}))(t)
	}
	p := preview(addr)
	if p.Refused != "" || len(p.Seen) != 1 || p.Seen[0].Name != "worker-1" || len(p.Sends) != 1 {
		t.Fatalf("%+v", p)
	}

	// Renamed between the preview and the kill: it may belong to another client now.
	must.Succeed(t, victim.Do(t.Context(), "client", "setname", "worker-9").Err())
	if r, err := ender.EndClient(t.Context(), p, "--yes"); err != nil || r.Reason != Changed || len(r.Ended) != 0 {
		t.Errorf("renamed: %+v, %v", r, err)
	}
	p = preview(addr)
	r, err := ender.EndClient(t.Context(), p, "--yes")
	if err != nil || r.Reason != "" || len(r.Ended) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	must.True(t, victim.Ping(t.Context()).Err() != nil, "the killed connection still works")
	must.Be(t, bystander.Ping(t.Context()).Err(), nil, "the other connection")
	if r, err := ender.EndClient(t.Context(), p, "--yes"); err != nil || r.Reason != Changed {
		t.Errorf("killed again: %+v, %v", r, err)
	}
	if p := preview(addr); p.Refused != Gone {
		t.Errorf("preview of a closed connection: %+v", p)
	}
	lines := auditLines(t, path)
	if last := lines[3]; last["action"] != "kill-client" || last["ended"] != true || last["phase"] != "result" || lines[2]["why"] != "a test" {
		t.Errorf("audit: %v", lines)
	}
	trail, err := ReadTrail(path)
	if err != nil || !slices.ContainsFunc(trail.Records, func(r Record) bool { return r.Outcome == "done" && r.Action == "kill-client" }) {
		t.Errorf("%+v, %v", trail, err)
	}
}

// The preview names the locks that the client holds and waits for on that backend.
func TestAClientsLocksAreNamed(t *testing.T) {
	p := ClientPreview{Request: ClientRequest{Backend: "redis", Client: "10.0.0.1:1"}, Seen: []Connection{{Addr: "10.0.0.1:1"}}}
	mine := inspect.Contender{Name: "v", State: inspect.Holding, Owner: inspect.Owner{Client: "10.0.0.1:1"}}
	waits := mine
	waits.State = inspect.Waiting
	p.Consider(inspect.NewSnapshot(time.Now(), []*inspect.Backend{{Name: "redis", State: inspect.Connected, FirstPass: true}}, []*inspect.Lock{
		{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Holders: []inspect.Contender{mine}},
		{ID: inspect.ID{Backend: "redis", Path: "lock:b"}, Waiters: []inspect.Contender{waits}},
		{ID: inspect.ID{Backend: "redis", Path: "lock:c"}, Holders: []inspect.Contender{{Owner: inspect.Owner{Client: "10.9.9.9:1"}}}},
		{ID: inspect.ID{Backend: "other", Path: "lock:d"}, Holders: []inspect.Contender{mine}},
	}))
	must.Equal(t, strings.Join(p.Lines(), "; "), "it holds redis:lock:a; it waits for redis:lock:b")
}

// Replica links are not killed, and a ZooKeeper session can be ended only with its password.
func TestLinksAndSessionsAreNotEnded(t *testing.T) {
	t.Parallel()
	if c, ok := parseConnection("id=9 addr=10.0.0.1:6379 name= flags=S cmd=replconf"); !ok || !c.link() {
		t.Errorf("a replica's connection: %+v", c)
	}
	zk := &ZooKeeper{}
	if p, _ := zk.PreviewEnd(t.Context(), ClientRequest{Backend: "zk", Client: "0x1"}); p.Refused != Unsupported || !strings.Contains(p.Detail, "password") {
		t.Errorf("a ZooKeeper session: %+v", p)
	}
}

// When the reply to CLIENT KILL is lost, the outcome is unknown until the connection is gone.
func TestUnansweredKillIsUnknown(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	for _, sent := range []bool{false, true} {
		ours := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ReadTimeout: time.Minute})
		defer ours.Close()
		ours.AddHook(lostAnswer{subcommand: "kill", sent: sent})
		ender := onMaster(t, ours, server.Addr)
		other := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ReadTimeout: time.Minute})
		defer other.Close()
		victim := other.Conn()
		defer victim.Close()
		info := must.Have(victim.ClientInfo(t.Context()).Result())(t)
		p, err := ender.PreviewEnd(t.Context(), ClientRequest{Backend: "redis", Client: info.Addr})
		if err != nil || p.Refused != "" {
			t.Fatalf("%+v, %v", p, err)
		}
		r, err := ender.EndClient(t.Context(), p, "--yes")
		if r.Unknown == sent || (len(r.Ended) > 0) != sent || r.Reason != "" || (err == nil) != sent {
			t.Errorf("sent %v: %+v, %v", sent, r, err)
		}
		want := map[bool]string{true: "done", false: "unknown"}[sent]
		if trail, err := ReadTrail(ender.audit.path); err != nil || len(trail.Records) != 1 || trail.Records[0].Outcome != want {
			t.Errorf("audit: %+v, %v", trail, err)
		}
	}
}

// lostAnswer loses the reply to CLIENT KILL, or drops the command.
type lostAnswer struct {
	servertest.Hook
	subcommand string
	sent       bool
}

func (u lostAnswer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if args := c.Args(); len(args) < 2 || args[1] != u.subcommand {
			return next(ctx, c)
		}
		if u.sent {
			_ = next(ctx, c)
		}
		c.SetErr(io.ErrUnexpectedEOF)
		return io.ErrUnexpectedEOF
	}
}

// All clients of a Unix socket share one address, so an address is ambiguous there and nothing is
// killed.
func TestSharedAddressIsFound(t *testing.T) {
	const path = "/run/redis.sock:0"
	one := Connection{Server: "10.0.0.1:6379", ID: 3, Addr: path}
	for _, tt := range []struct {
		list []Connection
		want string
	}{
		{[]Connection{one, {Server: one.Server, ID: 4, Addr: path}}, one.Server},
		{[]Connection{one, {Server: "10.0.0.2:6379", ID: 3, Addr: path}}, ""},
		{[]Connection{one}, ""},
	} {
		must.Equal(t, sharedAddress(tt.list), tt.want, tt.list)
	}
}

// The connections of a busy master are listed only on request. Otherwise the error says why they
// were not.
func TestManyConnectionsAreListedOnRequest(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	ours := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 1, ReadTimeout: time.Minute})
	defer ours.Close()
	r := onMaster(t, ours, server.Addr)
	for range 2 {
		c := server.Client(t)
		must.Succeed(t, c.Ping(t.Context()).Err())
	}
	listed := func() string { return ours.Info(t.Context(), "commandstats").Val() }
	list, err := r.Connections(t.Context(), 2)
	if len(list) > 0 || err == nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it has 3 connections") || strings.Contains(listed(), "cmdstat_client|list") {
		t.Errorf("%v, %v", list, err)
	}
	for _, most := range []int{0, 3} {
		if list, err := r.Connections(t.Context(), most); len(list) != 3 || err != nil {
			t.Errorf("at most %d: %v, %v", most, list, err)
		}
	}
	must.Succeed(t, ours.Do(t.Context(), "acl", "setuser", "default", "-info").Err())
	if list, err := r.Connections(t.Context(), 3); len(list) > 0 || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "+info") {
		t.Errorf("without INFO: %v, %v", list, err)
	}
	ours.Close()
	if _, err := r.Connections(t.Context(), 0); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("with a closed client: %v", err)
	}
}

// Spring publishes on a channel named for its registry, whose name may end at any colon of the key.
func TestPreviewNamesPublishChannels(t *testing.T) {
	const uuid = "0b9f4f3e-5d1c-4b52-9f0e-3f8f6f0f9a11"
	for key, want := range map[string]string{
		"lock":             "value seen)",
		"registry:lock":    "value seen), and publish on registry-channel:registry:lock",
		"team:registry:lo": "value seen), and publish on team-channel:team:registry:lo and 1 more like it (its waiters listen on one of them, others ignore it)",
	} {
		l := &inspect.Lock{ID: inspect.ID{Backend: "redis", Path: key}}
		way, ok := removalOf(l, &inspect.Contender{State: inspect.Holding}, uuid)
		if !ok || !strings.HasSuffix(way.says, want) {
			t.Errorf("%s: %s", key, way.says)
		}
	}
}
