package zkwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func createRequest(path string, acl []zk.ACL, flags int32) Request {
	body := jute.AppendBuffer(jute.AppendString(nil, path), []byte("data"))
	return Request{Op: opCreate2, Body: jute.AppendInt(AppendACL(body, acl), flags)}
}

func listRequest(path string) Request {
	return Request{Op: opGetChildren, Body: jute.AppendBool(jute.AppendString(nil, path), false)}
}

// Our own requests are executed in order, several in flight alongside go-zookeeper's, with complete
// replies.
func TestTapSendsRequestsOfOurOwn(t *testing.T) {
	t.Parallel()
	s := server(t)
	tap := &Tap{}
	c := through(t, tap, time.Minute, s.Addr())
	must.Have(c.Create("/own", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				before := time.Now()
				r := c.send(createRequest("/own/n-", zk.WorldACL(zk.PermAll), zk.FlagEphemeralSequential), listRequest("/own"))
				if r[0].Err != nil || r[1].Err != nil || r[0].Sent.Before(before) || r[0].Sent.After(time.Now()) {
					t.Error(r[0].Err, r[1].Err, r[0].Sent)
					return
				}
				d := NewDecoder(r[0].Body)
				path, stat := string(d.Buffer()), d.Stat()
				must.Be(t, d.Err, nil, "created", path)
				must.Equal(t, stat.EphemeralOwner, c.SessionID(), "owner of", path)
				must.True(t, stat.Czxid != 0 && stat.DataLength == 4, "created", path, stat)
				d = NewDecoder(r[1].Body)
				seen := slices.Contains(d.StringsOfOne(), strings.TrimPrefix(path, "/own/"))
				must.True(t, seen && d.Err == nil, path, "is not listed", d.Err)
				_, _, err := c.Get(path) // go-zookeeper's requests still work
				must.Be(t, err, nil)
			}
		})
	}
	all.Wait()
	r := c.send(listRequest("/absent"), Request{Op: opExists, Body: []byte("?")})
	must.True(t, errors.Is(r[0].Err, zk.ErrNoNode) && r[1].Err != nil, r[0].Err, r[1].Err)
}

// A caller that waits for a reply gets the end of the connection as an error. A request for another
// session is not sent.
func TestTapEndsRequestsWithTheirConnection(t *testing.T) {
	t.Parallel()
	s := server(t)
	wire := servertest.StartWire(t, s.Addr())
	tap := &Tap{}
	c := through(t, tap, 6*time.Second, wire.Addr())
	session := c.SessionID()
	for _, r := range sendIn(tap, session+1, listRequest("/"), listRequest("/")) {
		must.True(t, errors.Is(r.Err, zk.ErrSessionExpired) && r.Sent.IsZero(), "in another session", r)
	}
	changes := make(chan struct{}, 100)
	tap.Listen(func(string, zk.EventType) {}, func() { changes <- struct{}{} })
	wire.Stop()
	answer := make(chan Reply, 1)
	tap.Send(session, func(_ int, r Reply) { answer <- r }, listRequest("/"))
	<-changes // the end of the connection, reported after its requests have ended
	select {
	case r := <-answer:
		must.True(t, errors.Is(r.Err, zk.ErrConnectionClosed) && !r.Sent.IsZero(), "on a server that hangs", r)
	default:
		t.Error("on a server that hangs: the connection's end was reported before the request's")
	}
	r := c.send(listRequest("/"))[0]
	must.True(t, errors.Is(r.Err, zk.ErrNoServer) && r.Sent.IsZero(), "without a connection", r)
}

// Only commits by a quorum move Committed, not reads, syncs, pings, failures or a resumed session.
func TestCommittedMovesOnlyWithQuorum(t *testing.T) {
	s := server(t)
	wire := servertest.StartWire(t, s.Addr())
	tap := &Tap{}
	id, timeout, last := tap.Committed()
	must.Equal(t, fmt.Sprint(id, timeout, last.IsZero()), "0 0s true", "session, timeout, no commit before the first dial")
	c := through(t, tap, 6*time.Second, wire.Addr())
	session := c.SessionID()
	id, timeout, last = tap.Committed()
	must.Equal(t, fmt.Sprint(id, timeout, last.IsZero()), fmt.Sprint(session, 6*time.Second, false), "of a new session")
	path := jute.AppendString(nil, "/")
	check := append(jute.AppendInt(jute.AppendBool(jute.AppendInt(nil, 13), false), -1), jute.AppendInt(path, -1)...)
	check = jute.AppendInt(jute.AppendBool(jute.AppendInt(check, -1), true), -1)
	for _, tt := range []struct {
		what    string
		r       Request
		commits bool
	}{
		{"a listing", listRequest("/"), false},
		{"a sync", Request{Op: opSync, Body: path}, false},
		{"a failure", createRequest("/no/parent", zk.WorldACL(zk.PermAll), 0), false},
		{"a creation", createRequest("/c", zk.WorldACL(zk.PermAll), 0), true},
		{"a multi that checks", Request{Op: opMulti, Body: check}, true},
		{"a deletion", Request{Op: opDelete, Body: jute.AppendInt(jute.AppendString(nil, "/c"), -1)}, true},
	} {
		before := time.Now()
		r := c.send(tt.r)[0]
		_, _, now := tap.Committed()
		must.Equal(t, now.After(last), tt.commits, tt.what, r.Err, "moved")
		must.True(t, !tt.commits || now.Equal(r.Sent) && !now.Before(before), tt.what, "moved to", now, "sent", r.Sent)
		last = now
	}
	must.True(t, !lastAck(tap).Before(last), "a commit was not acknowledged")
	wire.Reset()
	c.await(zk.StateHasSession)
	id, _, now := tap.Committed()
	must.Equal(t, id, session, "a resumed session")
	must.Equal(t, now.Sub(last), 0, "a resumed session moved by")
}

// recorder is a connection that keeps what the client sends.
type recorder struct {
	net.Conn
	mu   sync.Mutex
	sent []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, p...)
	return r.Conn.Write(p)
}

// A new connection first repeats the authentications, and asks for a server with at least the zxid
// seen so far.
func TestTapRestoresConnectionState(t *testing.T) {
	t.Parallel()
	s := server(t)
	wire := servertest.StartWire(t, s.Addr())
	var newest atomic.Pointer[recorder]
	tap := &Tap{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		newest.Store(&recorder{Conn: conn})
		return newest.Load(), err
	}}
	c := through(t, tap, 10*time.Second, wire.Addr())
	must.Succeed(t, c.AddAuth("digest", []byte("user:password")))
	created := c.send(createRequest("/mine", zk.WorldACL(zk.PermAll), 0))[0]
	must.Succeed(t, created.Err)
	wire.Reset()
	c.await(zk.StateHasSession)
	var err error
	must.Become(t, "the new connection answers", func() bool {
		err = c.send(listRequest("/"))[0].Err
		return !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrConnectionClosed)
	})
	must.Succeed(t, err)
	r := newest.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := r.sent
	zxid := int64(binary.BigEndian.Uint64(heard[8:]))
	must.True(t, zxid >= created.Zxid, "the connect request says zxid", zxid, "want at least", created.Zxid)
	auth := bytes.Index(heard, []byte("user:password"))
	list := bytes.LastIndex(heard, listRequest("/").Body)
	must.True(t, auth >= 0 && list >= auth, "authenticated at byte", auth, "listed at", list)
}
