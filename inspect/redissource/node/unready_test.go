package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/redisreply"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A server that answers INFO but refuses every key is not up: it may be loading its data, or have
// lost its master.
func TestServerRefusingAllKeysIsDown(t *testing.T) {
	server := servertest.StartRedis(t)
	ctx, m := t.Context(), testMaster(t, at(server.Addr))
	must.Have(m.ReadStatus(ctx))(t)
	loseMaster(t, server.Client(t))
	if _, err := m.Votes(ctx, []string{"lock:a"}); !redisreply.Starts(err, "MASTERDOWN") {
		t.Fatal("keys are not refused:", err)
	}
	if st, err := m.ReadStatus(ctx); !redisreply.Starts(err, "MASTERDOWN") {
		t.Errorf("%v, %+v", err, st)
	}
}

// Redis before 7 and some proxies answer PING while all keys are refused. The server must stay down
// instead of flapping.
func TestServerAnsweringOnlyPingIsDown(t *testing.T) {
	server := servertest.StartRedis(t)
	admin, ctx := server.Client(t), t.Context()
	m := testMaster(t, at(answeringPing(t, server.Addr)))
	must.Have(m.ReadStatus(ctx))(t)
	loseMaster(t, admin)
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error { return c.Ping(ctx).Err() })
	must.Succeed(t, err)
	if st, err := m.ReadStatus(ctx); !redisreply.Starts(err, "MASTERDOWN") {
		t.Errorf("%v, %+v", err, st)
	}
	send(t, admin, []any{"config", "set", "replica-serve-stale-data", "yes"})
	must.Equal(t, must.Have(m.ReadStatus(ctx))(t).Role, RoleReplica, "role while serving stale data")
}

// answeringPing starts a proxy that answers PING when the server refuses it, and returns its address.
func answeringPing(t *testing.T, server string) string {
	t.Helper()
	var pinged atomic.Bool // by the newest request; there is one at a time
	behind := servertest.StartRelay(t, server, func(_ int, said []byte, client io.Writer) error {
		if end := bytes.Index(said, []byte("\r\n")); pinged.Load() && bytes.HasPrefix(said, []byte("-MASTERDOWN")) {
			said = append([]byte("+PONG"), said[end:]...)
		}
		_, err := client.Write(said)
		return err
	})
	return servertest.StartLiar(t, behind, func(_ int, requests []byte, _ io.Writer) bool {
		pinged.Store(bytes.Contains(bytes.ToLower(requests), []byte("\r\nping\r\n")))
		return false
	}).Addr
}

func TestPingOnlyErrorShowsLife(t *testing.T) {
	for said, want := range map[string]bool{
		"MISCONF Errors writing to the AOF file: No space left on device":         true,
		"NOPERM User ops has no permissions to run the 'ping' command":            true,
		"NOPERM this user has no permissions to run the 'ping' command":           true,
		"ERR unknown command 'ping', with args beginning with: '1'":               true,
		"NOPERM User ops has no permissions to run the 'client|tracking' command": false,
		"LOADING Redis is loading the dataset in memory":                          false,
		"MASTERDOWN Link with MASTER is down":                                     false,
		"BUSY Redis is busy running a script":                                     false,
		"NOAUTH Authentication required.":                                         false,
	} {
		must.Equal(t, refusesPing(proto(said)), want, said)
	}
	if refusesPing(nil) || refusesPing(io.EOF) {
		t.Error("a missing reply counts as a refused PING")
	}
}

// loseMaster makes a server the replica of an address without a server, so that it refuses all keys.
func loseMaster(t *testing.T, admin *redis.Client) {
	t.Helper()
	gone := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, _ := net.SplitHostPort(gone.Addr().String())
	gone.Close()
	stale := []any{"config", "set", "replica-serve-stale-data", "no"}
	send(t, admin, stale, []any{"replicaof", "127.0.0.1", port})
}

// A connection refused at the handshake yields no facts, not even that a key is absent.
func TestRefusedConnectionYieldsNoFacts(t *testing.T) {
	server := servertest.StartRedis(t, "--databases", "1")
	viewer(t, server, "-select")
	send(t, server.Client(t), []any{"set", "lock:a", "one"}, []any{"acl", "setuser", "disabled", "off", ">pw"})
	for name, options := range map[string]redis.UniversalOptions{
		"a disabled user":  {Username: "disabled", Password: "pw"},
		"another password": {Username: "viewer", Password: "old"},
		"SELECT is denied": {Username: "viewer", Password: "pw", DB: 1},
		"no such database": {DB: 1},
	} {
		t.Run(name, func(t *testing.T) {
			options.Addrs = []string{server.Addr}
			ctx, m := t.Context(), testMaster(t, options)
			if votes, err := m.Votes(ctx, []string{"lock:a"}); err == nil {
				t.Errorf("the key was read: %+v", votes)
			}
			if st, err := m.ReadStatus(ctx); err == nil {
				t.Errorf("the status was read: %+v", st)
			}
			must.True(t, m.readRole(ctx, &Status{}) != nil, "the role was read")
		})
	}
}

// Each request has a slot. Without a free one, it is not sent.
func TestRequestWaitsForSlot(t *testing.T) {
	m := New("a:1", at("a:1"), Settings{Timeout: time.Millisecond, Now: time.Now})
	for range connections {
		m.slots <- struct{}{}
	}
	_, err := m.Votes(t.Context(), []string{"lock:a"})
	must.Equal(t, err.Error(), "master a:1: no answer within 1ms")
}

// The request that finds the shared client broken drops it. The others report that cause, not a
// closed client.
func TestDiscardedClientReportsTheCause(t *testing.T) {
	m := New("a:1", redis.UniversalOptions{Addrs: []string{"a:1"}}, Settings{Timeout: time.Second, Now: time.Now})
	client := func() *redis.Client { return newClient(m.options, readOnly{&m.sent}) }
	first, second, other := client(), client(), client()
	m.client = first
	slow, broken := late{time.Second, errors.New("i/o timeout")}, errors.New("broken pipe")
	closed := fmt.Errorf("read: %w", net.ErrClosed)
	for i, tt := range []struct {
		client    *redis.Client
		why, want error
	}{
		{first, slow, slow}, {first, closed, slow}, {first, redis.ErrClosed, slow}, {first, broken, broken}, {other, closed, closed},
	} {
		must.Be(t, m.drop(tt.client, tt.why), tt.want, i)
	}
	m.client = second
	if got := m.drop(second, broken); !errors.Is(got, broken) || m.client != nil {
		t.Errorf("a second client: %v", got)
	}
	must.Be(t, m.drop(second, closed), broken, "a second client, closed")
}
