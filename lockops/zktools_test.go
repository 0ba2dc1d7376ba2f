package lockops_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// plain returns a separate client, as another program would use.
func plain(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	return servertest.ConnectZooKeeper(t, addr, 30*time.Second)
}

// children lists a directory, sorted by name. It returns nothing if the directory does not exist.
func children(t testing.TB, server *servertest.ZooKeeper, path string) []string {
	t.Helper()
	conn, events, err := zk.Connect([]string{server.Addr}, 30*time.Second, zk.WithLogger(quiet{}))
	must.Succeed(t, err)
	defer func() { // closed at once: tests poll
		conn.Close()
		for range events {
		}
	}()
	names, _, err := conn.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// watchedBy returns the paths that a session watches.
func watchedBy(t testing.TB, server *servertest.ZooKeeper, s *lockops.ZKSession) (paths []string) {
	t.Helper()
	id := s.Conn().SessionID()
	for path, sessions := range watchers(t, server) {
		if slices.Contains(sessions, fmt.Sprintf("0x%x", uint64(id))) {
			paths = append(paths, path)
		}
	}
	return paths
}

// mutexMaker makes a mutex with the options of a call still open, for mustQueue.
func mutexMaker(s *lockops.ZKSession, path string, opts ...lockops.Option) maker {
	return func(more ...lockops.Option) lockops.Locker {
		return lockops.NewZKMutex(s, path, append(more, opts...)...)
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// becomeEmpty waits until a directory has no nodes.
func becomeEmpty(t testing.TB, server *servertest.ZooKeeper, dir string) {
	t.Helper()
	must.Become(t, dir+" is empty", func() bool { return len(children(t, server, dir)) == 0 })
}

// proxy forwards between a client and a ZooKeeper server, and breaks connections as a test asks.
type proxy struct {
	t        testing.TB
	listener net.Listener
	server   string
	work     sync.WaitGroup

	cutReply   atomic.Int32   // cut the connection instead of forwarding the reply to the next request of this type
	cutRequest atomic.Int32   // cut the connection instead of forwarding the next request of this type
	blackHole  atomic.Bool    // forward nothing in either direction, and answer no new client
	mute       atomic.Int32   // drop replies to requests of this type
	noEvents   atomic.Bool    // drop watch events
	delay      atomic.Int64   // delay each reply, in ns
	before     func(op int32) // runs before each request except pings is forwarded; set before connecting

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ops   []int32 // types of the requests so far, except pings
}

// asked returns the types of the requests since the last call.
func (p *proxy) asked() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	ops := p.ops
	p.ops = nil
	return ops
}

// startProxy starts a proxy that can cut, delay and drop a client's traffic.
func startProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxy{t: t, listener: l, server: server, conns: map[net.Conn]struct{}{}}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.work.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		var doomed sync.Map // by xid; true to cut the reply, else the type of the request
		p.work.Go(func() { defer client.Close(); defer server.Close(); p.requests(client, server, &doomed) })
		p.work.Go(func() { defer client.Close(); defer server.Close(); p.replies(server, client, &doomed) })
	}
}

func (p *proxy) requests(client io.Reader, server io.Writer, doomed *sync.Map) {
	for first := true; ; first = false {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		if p.blackHole.Load() {
			continue
		}
		if !first && len(frame) >= 12 {
			op := int32(binary.BigEndian.Uint32(frame[8:]))
			xid := int32(binary.BigEndian.Uint32(frame[4:]))
			doomed.Store(xid, op)
			if op != 0 && p.cutReply.CompareAndSwap(op, 0) {
				doomed.Store(xid, true)
			}
			if op != 0 && p.cutRequest.CompareAndSwap(op, 0) {
				return
			}
			if op != 11 {
				if p.before != nil {
					p.before(op)
				}
				p.mu.Lock()
				p.ops = append(p.ops, op)
				p.mu.Unlock()
			}
		}
		if _, err := server.Write(frame); err != nil {
			return
		}
	}
}

func (p *proxy) replies(server io.Reader, client io.Writer, doomed *sync.Map) {
	for first := true; ; first = false {
		frame, err := readFrame(server)
		if err != nil {
			return
		}
		if p.blackHole.Load() {
			continue
		}
		if !first {
			xid := int32(binary.BigEndian.Uint32(frame[4:]))
			what, _ := doomed.LoadAndDelete(xid)
			if what == true {
				return
			}
			if op, ok := what.(int32); ok && op == p.mute.Load() || xid == -1 && p.noEvents.Load() {
				continue
			}
			time.Sleep(time.Duration(p.delay.Load())) // a slow or distant server
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// watchers returns the sessions that watch each path, as the server writes them.
func watchers(t testing.TB, server *servertest.ZooKeeper) map[string][]string {
	t.Helper()
	conn := must.Have(net.Dial("tcp", server.Addr))(t)
	defer conn.Close()
	must.Have(io.WriteString(conn, "wchp"))(t)
	sessions, path := make(map[string][]string), ""
	for line := range strings.Lines(string(must.Have(io.ReadAll(conn))(t))) {
		line = strings.TrimSuffix(line, "\n")
		if session, ok := strings.CutPrefix(line, "\t"); ok {
			sessions[path] = append(sessions[path], session)
		} else {
			path = line
		}
	}
	return sessions
}

// watchedByOthers reports whether a session other than s watches a path.
func watchedByOthers(t testing.TB, server *servertest.ZooKeeper, s *lockops.ZKSession, path string) bool {
	t.Helper()
	own := fmt.Sprintf("0x%x", uint64(s.Conn().SessionID()))
	return slices.ContainsFunc(watchers(t, server)[path], func(session string) bool { return session != own })
}
