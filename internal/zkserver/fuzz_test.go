package zkserver

import (
	"net"
	"testing"
	"time"
)

// FuzzRequest feeds one packet after the other to a session: no panic, and the tree stays whole.
func FuzzRequest(f *testing.F) {
	create := encoder{}
	create.string("/a")
	create.buffer([]byte("x"))
	create.acls(openACL)
	create.int32(modeEphemeralSequential)
	for _, op := range []int32{opCreate, opCreate2, opDelete, opExists, opSetData, opSetACL, opGetChildren2, opMulti, opMultiRead, opSetWatches, opSetWatches2, opAddWatch, opRemoveWatches, opAuth, opPing, 4711} {
		f.Add(op, create.buf, []byte{0, 0, 0, 2, '/', 'a', 0, 0, 0, 1})
	}
	multi := encoder{}
	multiHeader{op: opCreate}.encode(&multi)
	multi.buf = append(multi.buf, create.buf...)
	multiHeader{op: opError, done: true}.encode(&multi)
	f.Add(int32(opMulti), multi.buf, multi.buf)
	f.Fuzz(func(t *testing.T, op int32, first, second []byte) {
		s := &Server{
			cfg: Config{}.withDefaults(), started: time.Now(),
			tree: newTree(), watches: newWatches(), sessions: map[int64]*session{}, conns: map[*conn]struct{}{},
			nextSession: firstSession(time.Now()),
		}
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		c := newConn(s, near)
		s.connect(c, connectRequest{timeout: time.Second})
		nodes := s.tree.count()
		for _, record := range [][]byte{first, second} {
			e := encoder{}
			e.int32(1)
			e.int32(op)
			s.handle(c, append(e.buf, record...), time.Now())
		}
		if sess := s.sessions[s.nextSession-1]; sess != nil {
			s.expire(sess)
		}
		if len(s.tree.ephemerals) > 0 {
			t.Error("ephemeral nodes outlive their session")
		}
		for path := range s.tree.nodes {
			if parent, name, _ := parentOf(path); name != "" {
				if p := s.tree.nodes[parent]; p == nil {
					t.Errorf("%q has no parent", path)
				} else if _, ok := p.children[name]; !ok {
					t.Errorf("%q is not among its parent's children", path)
				}
			}
		}
		if s.tree.count() < nodes {
			t.Errorf("%d nodes, %d at the start", s.tree.count(), nodes)
		}
		if s.watches.size() > 0 {
			t.Error("watches outlive their connection")
		}
	})
}

// FuzzConnect feeds the first packet of a connection.
func FuzzConnect(f *testing.F) {
	f.Add(make([]byte, 45))
	f.Fuzz(func(t *testing.T, packet []byte) {
		d := decoder{buf: packet}
		if r := decodeConnect(&d); d.err == nil && len(r.password) > len(packet) {
			t.Errorf("a password of %d from %d bytes", len(r.password), len(packet))
		}
	})
}
