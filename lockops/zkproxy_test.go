package lockops_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a client and a ZooKeeper server and breaks connections where a test says so.
type proxy struct {
	t        testing.TB
	listener net.Listener
	server   string
	work     sync.WaitGroup

	cutReply  atomic.Int32 // cut the connection instead of passing on the reply to the next request of this type
	blackHole atomic.Bool  // pass nothing on, in either direction, and answer nobody new

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func startProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		var doomed sync.Map // xids whose replies are cut
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
			if op != 0 && p.cutReply.CompareAndSwap(op, 0) {
				doomed.Store(int32(binary.BigEndian.Uint32(frame[4:])), true)
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
			if _, cut := doomed.Load(int32(binary.BigEndian.Uint32(frame[4:]))); cut {
				return
			}
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
