package zksource

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// link is one connection to the ensemble. A broken one is replaced, never resumed. Our session owns
// nothing, so a lost connection, an expired session and a hung server are handled alike. Also,
// go-zookeeper has a data race when it resumes a session. The fields guarded by mu are set by
// go-zookeeper's goroutines.
type link struct {
	tap      *zkwire.Tap
	now      func() time.Time
	conn     *zk.Conn
	closed   <-chan zk.Event // closed by go-zookeeper when its goroutines have ended
	inbox    *inbox
	awake    sync.WaitGroup
	ctx      context.Context // until close
	end      context.CancelFunc
	patience time.Duration // for one attempt to connect, if longer than go-zookeeper's second
	distance distance      // belongs to the run's goroutine
	// broken is set if a request got no answer; the event with the reason follows. Only the run's
	// goroutine uses it.
	broken bool

	mu       sync.Mutex
	servers  int
	attempts int
	session  bool
	server   string    // the server that granted the session
	dialled  time.Time // when the connection with the session was dialled
	greeted  time.Time // when it had the session
	slow     bool      // a server did not answer in time
	raw      net.Conn
	errors   map[string]failure // why each server could not be reached
}

// failure is a failed connection attempt to a server.
type failure struct {
	reason string
	ours   bool // the server may serve other clients
}

// maxReply is the longest answer that does not end a connection, in bytes. The first multi-read
// request asks for a few dozen nodes, each of which may turn out to hold a megabyte
// (jute.maxbuffer).
const maxReply = 64 << 20

// gather is how long an event may wait for others in a fast-changing tree, since a wake-up costs
// more than handling the event.
const gather = 2 * time.Millisecond

var errSpent = errors.New("this connection is not resumed")

// linkEvent carries a change of a link's session, a watch's event or an answer to the loop.
type linkEvent struct {
	link  *link
	at    time.Time
	kind  linkKind
	path  string       // of the watch
	what  zk.EventType // why it fired
	batch *batch       // the answered request
	err   error        // why a watch was not set
}

type linkKind uint8

const (
	linkUp       linkKind = iota // there is a session
	linkLost                     // the session was lost
	linkFailed                   // no server could be reached
	linkFired                    // a watch fired
	linkAnswered                 // a request for many reads was answered, or never will be
	linkNoWatch                  // the recursive watch of a root was refused
)

// inbox is an unbounded queue of events, since go-zookeeper must not block and no event may be
// dropped.
type inbox struct {
	mu     sync.Mutex
	events []linkEvent
	ready  chan struct{}
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (b *inbox) add(e linkEvent) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []linkEvent {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// open starts connecting. Results go to the inbox.
func open(cfg Config, servers []string, session, patience time.Duration, in *inbox) (*link, error) {
	ctx, end := context.WithCancel(context.Background()) // until close
	l := &link{
		tap: &zkwire.Tap{TLS: cfg.TLS, DialContext: cfg.Dial, Gather: gather, Context: ctx}, now: cfg.Now,
		inbox: in, ctx: ctx, end: end, patience: patience, servers: len(servers), errors: map[string]failure{},
	}
	if l.tap.Greeting = max(patience, session/3); cfg.Once {
		l.tap.Greeting = patience
	}
	l.tap.Listen(l.fired, nil)
	ready := make(chan struct{}) // the callback may come before Connect has returned
	conn, events, err := zk.Connect(servers, session,
		zk.WithDialer(l.dial), zk.WithHostProvider(new(zkwire.ServerList)),
		zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(maxReply), zk.WithMaxConnBufferSize(64<<10),
		zk.WithEventCallback(func(e zk.Event) { <-ready; l.event(e) }))
	if err != nil {
		end()
		return nil, err
	}
	l.conn, l.closed = conn, events
	close(ready)
	return l, nil
}

// dial lets go-zookeeper try each server once, and never again after the link has had a session.
func (l *link) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	l.attempts++
	spent := l.session || l.attempts > l.servers
	if !spent {
		l.dialled = l.now()
	}
	l.mu.Unlock()
	if spent {
		return nil, errSpent
	}
	conn, err := l.tap.Dial(network, addr, max(timeout, l.patience))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.attemptFailed(addr, err)
		return nil, err
	}
	l.raw = conn
	return conn, nil
}

// attemptFailed records why a server did not grant a session. It reports the failure of the last
// server. mu is held.
func (l *link) attemptFailed(addr string, err error) {
	l.errors[addr] = failure{connect.Reason(err), connect.Ours(err)}
	l.slow = l.slow || connect.TimedOut(err)
	if l.attempts >= l.servers {
		l.inbox.add(linkEvent{link: l, at: l.now(), kind: linkFailed})
	}
}

// fired passes on a watch event. It comes from the tap, since go-zookeeper would deliver it after
// answers that the server sent later.
func (l *link) fired(path string, what zk.EventType) {
	if what != zk.EventSession {
		l.inbox.add(linkEvent{link: l, at: l.now(), kind: linkFired, path: path, what: what})
	}
}

// event handles a change of the session. It must not block.
func (l *link) event(e zk.Event) {
	now := l.now()
	if e.Type != zk.EventSession {
		return
	}
	l.mu.Lock()
	had := l.session
	switch e.State {
	case zk.StateHasSession:
		if !l.session {
			l.greeted = now
		}
		l.session, l.server = true, l.tap.Server()
	case zk.StateDisconnected, zk.StateExpired:
		if err := l.tap.DialError(); err != nil && !had {
			l.attemptFailed(e.Server, err)
		}
	}
	has := l.session
	l.mu.Unlock()
	switch {
	case e.State == zk.StateHasSession:
		l.inbox.add(linkEvent{link: l, at: now, kind: linkUp})
	case had && has && (e.State == zk.StateDisconnected || e.State == zk.StateExpired):
		l.inbox.add(linkEvent{link: l, at: now, kind: linkLost})
	}
}

// keepAwake makes the leader answer once a second, so that late news is recognised (see
// zkwire.Tap.Late).
func (l *link) keepAwake() {
	l.awake.Go(func() {
		beats := time.Tick(time.Second)
		for {
			select {
			case <-beats:
				l.tap.Sync(time.Second / 2)
			case <-l.ctx.Done():
				return
			}
		}
	})
}

// connectedTo returns the server that granted the session; empty before.
func (l *link) connectedTo() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server
}

// established bounds when the server accepted the connection. It returns false without a session.
func (l *link) established() (from, to time.Time, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dialled, l.greeted, l.session
}

// reasons returns the newest failure of each server, by address.
func (l *link) reasons() map[string]failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.errors)
}

// wasSlow reports whether a server did not answer in time. It may answer within a longer timeout.
func (l *link) wasSlow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow
}

// close ends the session and waits for go-zookeeper's goroutines to end, up to a second if the
// server does not answer.
func (l *link) close() {
	l.end()
	l.conn.Close()
	l.mu.Lock()
	raw := l.raw
	l.mu.Unlock()
	if raw != nil {
		raw.Close()
	}
	for range l.closed {
	}
	l.awake.Wait()
}

// isBroken reports whether a request got no answer.
func isBroken(err error) bool {
	broken := []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrClosing, zk.ErrSessionMoved}
	return slices.ContainsFunc(broken, func(b error) bool { return errors.Is(err, b) })
}

// silent is a zk.Logger: important messages are in the backend's state.
type silent struct{}

func (silent) Printf(string, ...any) {}
