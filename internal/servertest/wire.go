package servertest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Wire forwards bytes between a server and the clients of the wire's own port. A test can make it
// stop as a network does: silently, in one direction or both, or with resets. Bytes that are held
// back are not lost: after Heal they arrive late.
type Wire struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond // stopped or ended
	stopped [2]bool    // by direction
	held    [2]int     // bytes in hand
	refuses bool
	delay   time.Duration // of every piece that passes
	ended   bool
	conns   map[net.Conn]struct{}
	halves  map[net.Conn]struct{} // server ends that are closed while the client's stay open
	servers map[net.Conn]struct{}
}

// Direction of bytes on a Wire.
type Direction int

// The directions of a Wire.
const (
	ToServer Direction = iota
	ToClient
)

// StartWire starts a wire to the server at an address, for one test.
func StartWire(t testing.TB, target string) *Wire {
	t.Helper()
	w, err := startWire("127.0.0.1:0", target)
	check(t, err)
	t.Cleanup(w.end)
	return w
}

func startWire(addr, target string) (*Wire, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	w := &Wire{
		listener: l, target: target, conns: make(map[net.Conn]struct{}), halves: make(map[net.Conn]struct{}),
		servers: make(map[net.Conn]struct{}),
	}
	w.changed = sync.NewCond(&w.mu)
	w.work.Go(w.accept)
	return w, nil
}

// Addr is the host:port of the wire's near end.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Stop silently holds back whatever is sent in some directions; in both when none is given. New
// connections are made only when bytes can go to the server.
func (w *Wire) Stop(directions ...Direction) {
	if len(directions) == 0 {
		directions = []Direction{ToServer, ToClient}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range directions {
		w.stopped[d] = true
	}
}

// Refuse resets all connections, including new ones.
func (w *Wire) Refuse() {
	w.mu.Lock()
	w.refuses = true
	w.mu.Unlock()
	w.Reset()
}

// Delay delays every piece of data, in either direction.
func (w *Wire) Delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = d
}

// Open counts the client connections that are forwarded to the server.
func (w *Wire) Open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) / 2
}

// Heal lets everything pass again at once, including the bytes held back.
func (w *Wire) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped, w.refuses, w.delay = [2]bool{}, false, 0
	w.changed.Broadcast()
}

// Pass lets data in one direction pass again.
func (w *Wire) Pass(d Direction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped[d] = false
	w.changed.Broadcast()
}

// Held counts the bytes held back in a direction; more may be queued behind them.
func (w *Wire) Held(d Direction) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[d]
}

// stops reports whether anything is held back or refused.
func (w *Wire) stops() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped != [2]bool{} || w.refuses || w.delay > 0
}

// Retarget switches to another server, as a name or address that a failover moves. It ends all
// connections.
func (w *Wire) Retarget(target string) {
	w.mu.Lock()
	w.target = target
	w.mu.Unlock()
	w.Reset()
}

// Reset resets all connections. New ones follow the state of the directions.
func (w *Wire) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		reset(c)
	}
}

// HalfOpen ends all connections on the server's side only. Their clients do not notice, and what
// they send is lost. New connections work as usual.
func (w *Wire) HalfOpen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for server := range w.servers {
		w.halves[server] = struct{}{}
		reset(server)
	}
}

func (w *Wire) halfOpen(server net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, half := w.halves[server]
	return half
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the end would wait for bytes that are held back
	}
	_ = c.Close()
}

func (w *Wire) end() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.ended = true
	for c := range w.conns {
		reset(c)
	}
	w.changed.Broadcast()
	w.mu.Unlock()
	w.work.Wait()
}

func (w *Wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.work.Go(func() { w.connect(client) })
	}
}

// connect forwards data between two ends until one of them has ended.
func (w *Wire) connect(client net.Conn) {
	defer w.forget(client)
	if !w.remember(client) || !w.pass(ToServer, 0) {
		return
	}
	w.mu.Lock()
	target := w.target
	w.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer w.forget(server)
	if !w.remember(server) {
		return
	}
	w.mu.Lock()
	w.servers[server] = struct{}{}
	w.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		w.copy(client, server, ToClient)
		if !w.halfOpen(server) {
			reset(client)
		}
	})
	w.copy(server, client, ToServer)
	if w.halfOpen(server) {
		_, _ = io.Copy(io.Discard, client) // until the client gives up
	}
	reset(server)
	back.Wait()
}

func (w *Wire) copy(to, from net.Conn, d Direction) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !w.pass(d, n) {
			return
		}
		if _, writeErr := to.Write(buf[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// pass waits until this many bytes may go in a direction; false if the wire has ended.
func (w *Wire) pass(d Direction, bytes int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delay := w.delay; delay > 0 {
		w.mu.Unlock()
		time.Sleep(delay)
		w.mu.Lock()
	}
	w.held[d] += bytes
	for w.stopped[d] && !w.ended {
		w.changed.Wait()
	}
	w.held[d] -= bytes
	return !w.ended
}

func (w *Wire) remember(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.refuses {
		reset(c)
		return false
	}
	w.conns[c] = struct{}{}
	return true
}

func (w *Wire) forget(c net.Conn) {
	w.mu.Lock()
	delete(w.conns, c)
	delete(w.servers, c)
	delete(w.halves, c)
	w.mu.Unlock()
	reset(c)
}
