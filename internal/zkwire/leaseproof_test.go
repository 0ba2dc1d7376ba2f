package zkwire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/jute"
)

// A connection that never commits keeps only the marks from which a lease can be computed.
func TestReadsAloneLeaveFewMarks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withSession(t)
		defer w.conn.Close()
		_, timeout := w.tap.Session()
		for range 10_000 {
			time.Sleep(timeout / 20)
			w.answer(w.request())
		}
		w.tap.mu.Lock()
		defer w.tap.mu.Unlock()
		marks := w.tap.current.marks
		if n := len(marks); n < 20 || n > marksPerTimeout+2 {
			t.Errorf("%d marks", n)
		}
		if age := time.Since(marks[0].sent); age < timeout-timeout/20 {
			t.Errorf("the oldest mark is only %v old", age)
		}
	})
}

// Only requests of the session are marks: an authentication does not keep the session alive.
func TestAuthRequestsDoNotProveSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withSession(t)
		defer w.conn.Close()
		c := w.tap.current
		const xidAuth, opPing = -4, 11
		for _, ask := range []struct {
			op    int32
			marks int
		}{{opAuth, 1}, {opAuth, 1}, {opPing, 2}, {opAuth, 2}} {
			time.Sleep(5 * time.Second)
			before := lastAck(w.tap)
			xid := int32(xidAuth)
			if ask.op == opPing {
				xid = xidPing
			}
			go func() { _, _ = w.conn.Write(framed(jute.AppendInt(jute.AppendInt(nil, xid), ask.op))) }()
			w.sent()
			w.answer(xid)
			w.tap.mu.Lock()
			n := len(c.marks)
			w.tap.mu.Unlock()
			if acknowledged := lastAck(w.tap).After(before); n != ask.marks || acknowledged != (ask.op != opAuth) {
				t.Errorf("operation %d: %d marks, want %d; acknowledged: %v", ask.op, n, ask.marks, acknowledged)
			}
		}
	})
}
