package lockops

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

// ZKOption changes a ZooKeeper session.
type ZKOption func(*zkOptions)

type zkOptions struct {
	timeout time.Duration
	tls     *tls.Config
	auth    []string // digest credentials, user:password
	acl     []zk.ACL
	chroot  string
}

// WithSessionTimeout asks for a session timeout, default 10 s. The server bounds it to between 2 and 20 of its ticks.
func WithSessionTimeout(timeout time.Duration) ZKOption {
	return func(o *zkOptions) { o.timeout = timeout }
}

// WithTLS speaks TLS to the servers. An empty ServerName is filled in with each server's name.
func WithTLS(config *tls.Config) ZKOption { return func(o *zkOptions) { o.tls = config } }

// WithDigest authenticates as user by ZooKeeper's digest scheme. The password goes over the wire: use it with TLS.
func WithDigest(user, password string) ZKOption {
	return func(o *zkOptions) { o.auth = append(o.auth, user+":"+password) }
}

// WithACL sets who may do what with the nodes that are created, default everybody everything (zk.WorldACL).
func WithACL(acl ...zk.ACL) ZKOption { return func(o *zkOptions) { o.acl = acl } }

// WithChroot puts a path before the paths of all locks of the session.
func WithChroot(path string) ZKOption {
	return func(o *zkOptions) { o.chroot = strings.TrimRight(path, "/") }
}

const (
	defaultSessionTimeout = 10 * time.Second
	maxReplySize          = 4 << 20
	sendBuffer            = 256 << 10 // above the 128 KiB in which go-zookeeper re-arms watches
)

// ZKSession is a session with a ZooKeeper ensemble. It may be shared by any number of locks and goroutines; a lock
// never closes it.
type ZKSession struct {
	conn    *zk.Conn
	tap     *connect.Tap
	servers string
	opts    zkOptions
	ctx     context.Context // ends with ErrClosed
	end     context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	up      bool  // connected, with a session
	life    *life // newest session that is not known to have ended, and may be
	changed chan struct{}
	work    sync.WaitGroup // with mu: nothing is added after closed, and neither to asked
	asked   sync.WaitGroup // the requests under way

	// creating is held for reading while a node whose name has no GUID is created, and for writing while such nodes of
	// ours whose creation was not confirmed are searched; ours, by path, are those confirmed.
	creating sync.RWMutex
	ours     map[string]struct{}
}

// life is one session of the ensemble while it is certain that it lives. A session that was cut off for long and turns
// out to live has a new life: the holds of the first have been told that they are lost.
type life struct {
	id  int64
	ctx context.Context
	end context.CancelCauseFunc
}

// silent is a zk.Logger; what matters is asked of the tap.
type silent struct{}

func (silent) Printf(string, ...any) {}

// NewZKSession connects to an ensemble given as host:port (port 2181 when left out) and waits until it has a session, or
// until ctx ends; the error then names the servers and why the last of them could not be reached. Close ends it.
func NewZKSession(ctx context.Context, servers []string, opts ...ZKOption) (*ZKSession, error) {
	o := zkOptions{timeout: defaultSessionTimeout, acl: zk.WorldACL(zk.PermAll)}
	for _, opt := range opts {
		opt(&o)
	}
	s := &ZKSession{
		servers: strings.Join(servers, ","), opts: o, tap: &connect.Tap{TLS: o.tls},
		changed: make(chan struct{}), ours: make(map[string]struct{}),
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	conn, events, err := zk.Connect(servers, o.timeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(new(connect.ServerList)), zk.WithEventCallback(s.noteEvent),
		zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxReplySize), zk.WithMaxConnBufferSize(sendBuffer))
	if err != nil {
		s.end(ErrClosed)
		return nil, fmt.Errorf("lockops: zookeeper %s: %w", s.servers, err)
	}
	s.conn = conn
	s.goDo(func() {
		for range events { // told by noteEvent; closed when go-zookeeper has ended
		}
	})
	s.goDo(s.keepLife)
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start waits for the session and authenticates.
func (s *ZKSession) start(ctx context.Context) error {
	if _, err := s.alive(ctx); err != nil {
		if dialErr := s.tap.DialError(); dialErr != nil {
			why := connect.Reason(dialErr)
			var dial *connect.DialError
			if errors.As(dialErr, &dial) && dial.Addr != s.servers {
				why = dial.Addr + ": " + why
			}
			return told{fmt.Sprintf("lockops: no session with zookeeper %s: %s", s.servers, why), []error{err, dialErr}}
		}
		return fmt.Errorf("lockops: no session with zookeeper %s: %w", s.servers, connect.Plain(err))
	}
	for _, credentials := range s.opts.auth {
		err, ctxErr := ask(ctx, s, func() error { return s.conn.AddAuth("digest", []byte(credentials)) })
		if err = errors.Join(err, ctxErr); err != nil {
			return fmt.Errorf("lockops: zookeeper %s: authenticate: %w", s.servers, err)
		}
	}
	return nil
}

// Close ends the session: the ensemble removes its nodes, so that all its locks are free, and its holds are lost. It
// waits for the session's goroutines. A second call does nothing.
func (s *ZKSession) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	life := s.life
	s.mu.Unlock()
	if !closed {
		s.end(ErrClosed)
		if life != nil {
			life.end(ErrClosed)
		}
		answered := s.settle()
		s.conn.Close()
		<-answered
	}
	s.work.Wait()
}

// settleTime is how long Close lets requests under way be answered: go-zookeeper has a data race between an answer and the
// end of its connection.
const settleTime = 200 * time.Millisecond

// settle waits a little for the answers to requests under way; what it returns is closed when all have one or have failed.
func (s *ZKSession) settle() <-chan struct{} {
	answered := make(chan struct{})
	go func() {
		s.asked.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(settleTime):
	}
	return answered
}

// goDo runs f in a goroutine that Close waits for; after Close it does not run.
func (s *ZKSession) goDo(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// goAsk is goDo for a request.
func (s *ZKSession) goAsk(request func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.asked.Add(1)
	s.work.Go(func() {
		defer s.asked.Done()
		request()
	})
	return true
}

// ask runs a request of go-zookeeper, which knows no contexts, and waits for it or for the end of ctx.
func ask[T any](ctx context.Context, s *ZKSession, request func() T) (T, error) {
	var none T
	reply := make(chan T, 1)
	if !s.goAsk(func() { reply <- request() }) {
		return none, ErrClosed
	}
	select {
	case r := <-reply:
		return r, nil
	case <-ctx.Done():
		return none, because(ctx)
	}
}

// noteEvent hears of go-zookeeper's states. It runs on that client's goroutines.
func (s *ZKSession) noteEvent(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		s.setUp(true)
		id, _, _ := s.tap.Lease()
		s.setLife(id, errExpired)
	case zk.StateExpired:
		s.setUp(false)
		s.setLife(0, errExpired)
	case zk.StateDisconnected, zk.StateConnecting:
		s.setUp(false)
		s.tell()
	}
}

func (s *ZKSession) setUp(up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up = up
}

var (
	errExpired = errors.New("zookeeper session has expired")
	errSilence = errors.New("no answer from zookeeper within the session timeout")
)

// setLife says which session lives, 0 for none, and ends the life of another with a reason.
func (s *ZKSession) setLife(id int64, reason error) {
	s.mu.Lock()
	old := s.life
	if old != nil && old.id == id {
		s.mu.Unlock()
		s.tell()
		return
	}
	s.life = nil
	if id != 0 && !s.closed {
		s.life = &life{id: id}
		s.life.ctx, s.life.end = context.WithCancelCause(context.Background())
	}
	s.mu.Unlock()
	if old != nil {
		old.end(reason)
	}
	s.tell()
}

// tell wakes everybody who waits for a change of the session's state.
func (s *ZKSession) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// deadline is until when a session certainly lives: the servers count its timeout from when they heard the newest
// request that they acknowledged, which is after it was sent. Clocks may run at rates that differ by one percent.
func (s *ZKSession) deadline() (id int64, deadline time.Time) {
	id, timeout, acked := s.tap.Lease()
	return id, acked.Add(timeout - timeout/100 - 2*time.Millisecond)
}

// keepLife ends the life of a session in time, without having to hear of it from any server, and gives a session that
// turns out to live a new one.
func (s *ZKSession) keepLife() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s.mu.Lock()
		changed, up, life := s.changed, s.up, s.life
		s.mu.Unlock()
		id, deadline := s.deadline()
		left := time.Until(deadline)
		switch {
		case id == 0:
			s.lapse(life, errExpired)
			left = time.Hour // until it changes
		case left <= 0:
			s.lapse(life, errSilence)
			left = 20 * time.Millisecond
		case up:
			s.revive(id)
		}
		timer.Reset(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}

// lapse ends a life, and no other that may have begun since it was looked at.
func (s *ZKSession) lapse(old *life, reason error) {
	if old == nil {
		return
	}
	s.mu.Lock()
	if s.life == old {
		s.life = nil
	}
	s.mu.Unlock()
	old.end(reason)
}

func (s *ZKSession) revive(id int64) {
	s.mu.Lock()
	none := s.life == nil
	s.mu.Unlock()
	if none {
		s.setLife(id, errExpired)
	}
}

// alive waits until the session is connected and certainly lives.
func (s *ZKSession) alive(ctx context.Context) (*life, error) {
	for {
		s.mu.Lock()
		life, up, changed := s.life, s.up, s.changed
		s.mu.Unlock()
		if life != nil && up && life.ctx.Err() == nil {
			return life, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, because(ctx)
		case <-s.ctx.Done():
			return nil, ErrClosed
		}
	}
}

// lives returns the life of a session, nil when that is not certain now.
func (s *ZKSession) lives(id int64) *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil || s.life.id != id || s.life.ctx.Err() != nil {
		return nil
	}
	if current, deadline := s.deadline(); current != id || !time.Now().Before(deadline) {
		return nil
	}
	return s.life
}

// lostInTransit says that a request may or may not have been executed, or was not sent: try again when connected.
func lostInTransit(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved)
}

// full is a lock's path with the session's chroot before it.
func (s *ZKSession) full(path string) string { return s.opts.chroot + path }
