package servertest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and a server, on a loopback port of its own, and breaks what passes where a test says so.
// It knows no protocol. All its methods may be called at any time from any goroutine.
type Proxy struct {
	Addr string // host:port for clients

	listener net.Listener
	server   string
	work     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	faults  faults
	changed chan struct{} // closed when the faults are others
	pairs   map[*pair]struct{}
}

// faults are what a proxy does to all its connections.
type faults struct {
	refuse             bool          // close who comes
	toServer, toClient bool          // hold back what goes there
	delay              time.Duration // before each piece that is passed on
}

// pair is a connection of a client and its counterpart to the server.
type pair struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
}

func (p *pair) end() {
	p.once.Do(func() {
		close(p.ended)
		p.client.Close()
		p.server.Close()
	})
}

// StartProxy starts a proxy of a server, given as host:port. It ends with the test.
func StartProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &Proxy{Addr: l.Addr().String(), listener: l, server: server, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		p.work.Wait()
	})
	return p
}

// Cut closes the connections there are; new ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pair := range p.pairs {
		pair.end()
	}
}

// Refuse closes the connections there are, and new ones, until Heal.
func (p *Proxy) Refuse() {
	p.set(func(f *faults) { f.refuse = true })
	p.Cut()
}

// BlackHole holds back what goes to the server, to the clients, or both, until Heal; connections stay open and new ones are
// taken.
func (p *Proxy) BlackHole(toServer, toClient bool) {
	p.set(func(f *faults) { f.toServer, f.toClient = toServer, toClient })
}

// Delay lets every piece that passes wait so long, until Heal.
func (p *Proxy) Delay(d time.Duration) { p.set(func(f *faults) { f.delay = d }) }

// Heal ends all faults; what was held back passes on, except on connections that were closed meanwhile.
func (p *Proxy) Heal() { p.set(func(f *faults) { *f = faults{} }) }

// Open counts the connections of clients.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

func (p *Proxy) set(change func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.faults)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) now() (faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if f, _ := p.now(); f.refuse {
			client.Close()
			continue
		}
		server, err := net.DialTimeout("tcp", p.server, time.Second)
		if err != nil {
			client.Close()
			continue
		}
		both := &pair{client: client, server: server, ended: make(chan struct{})}
		p.mu.Lock()
		if p.closed {
			both.end()
		}
		p.pairs[both] = struct{}{}
		p.mu.Unlock()
		var sides sync.WaitGroup
		sides.Go(func() { p.pass(both, client, server, func(f faults) bool { return f.toServer }) })
		sides.Go(func() { p.pass(both, server, client, func(f faults) bool { return f.toClient }) })
		p.work.Go(func() {
			sides.Wait()
			p.mu.Lock()
			delete(p.pairs, both)
			p.mu.Unlock()
		})
	}
}

// pass copies one direction of a connection until either side closes it.
func (p *Proxy) pass(both *pair, from, to net.Conn, held func(faults) bool) {
	defer both.end()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.let(both, held) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// let waits until a piece may pass; false: its connection was closed first.
func (p *Proxy) let(both *pair, held func(faults) bool) bool {
	f, changed := p.now()
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-both.ended:
			return false
		}
	}
	for f, changed = p.now(); held(f); f, changed = p.now() {
		select {
		case <-changed:
		case <-both.ended:
			return false
		}
	}
	return true
}
