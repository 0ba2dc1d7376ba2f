package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/lockops/act"
	"lockscope/tui/internal/fixture"
)

// inChain is a running program with the chain of a lock in front, found by a word.
func inChain(t *testing.T, f *fakeReleaser, s *inspect.Snapshot, word, sees string) *program {
	t.Helper()
	o := Options{}
	if f != nil {
		o.Release = f.of
	}
	p := start(t, o, 120, 36)
	p.show(s)
	p.wait("locks")
	p.keys("/" + word + "\r")
	p.wait("1 of ")
	p.keys("\r")
	p.wait("▸ chain", sees)
	return p
}

// stays fails when the release was asked for.
func (f *fakeReleaser) stays(t *testing.T) {
	t.Helper()
	if n := f.executions(); n != 0 {
		t.Errorf("released %d times", n)
	}
}

func TestScreenWrongNameCancels(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	p := inChain(t, f, fixture.Everything(), "orders", "holds it for")
	for _, wrong := range []string{"/locks/order", "/locks/orders/", "orders", "/LOCKS/ORDERS"} {
		p.keys("x")
		p.wait("Type the path")
		p.keys(wrong)
		p.wait("not the path yet")
		p.keys("\t\r")
		p.wait("this is not the path")
		p.keys("\x1b")
		p.wait("esc back")
	}
	f.stays(t)
}

// A paste neither opens nor confirms, whatever is in it.
func TestScreenPasteDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	p := inChain(t, f, fixture.Everything(), "orders", "holds it for")
	p.keys("\x1b[200~x\r\x1b[201~j")
	p.wait("○ worker-7 · waits")
	p.keys("kx")
	p.wait("Type the path")
	p.keys("\x1b[200~/locks/orders\t\r\x1b[201~")
	p.wait("pasting is off here")
	p.keys("/locks/order\x1b[200~s\x1b[201~")
	p.wait("pasting is off here")
	p.keys("\t\r")
	p.wait("this is not the path")
	p.keys("\x1b")
	p.wait("esc back")
	f.stays(t)
}

func TestScreenHolderChangedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	f.result = act.Result{Reason: act.Changed}
	p := inChain(t, f, fixture.Everything(), "orders", "holds it for")
	p.keys("x")
	p.wait("Type the path")
	l := fixture.Orders()
	l.Holders = []inspect.Contender{fixture.Znode(700, "worker-9", time.Second, nil, 0)}
	l.Waiters = nil
	p.show(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
	p.wait("It has changed since: the release will be refused")
	p.keys("/locks/orders\t\r")
	p.wait("Not released (changed)", "changed meanwhile", "Now      ● worker-9")
	if n := f.executions(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	p.keys("\r")
	p.wait("esc back", "worker-9 (10.2.0.0:53122)")
}

func TestScreenWaiterNeedsAnExtraStep(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	p := inChain(t, f, fixture.Everything(), "orders", "holds it for")
	p.keys("jx")
	p.wait("Remove a waiter", "Removing a waiter frees nothing", "go on with a waiter")
	p.keys("\r")
	p.wait("esc back")
	if len(f.requests) > 0 {
		t.Error("a preview was asked for")
	}
	p.keys("xw")
	p.wait("Type the path", "Waiter")
	p.keys("\r")
	p.wait("esc back")
	f.stays(t)
}

// The result is shown for each master, with the present holder.
func TestScreenResultPerNode(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	l := fixture.Thin()
	f.preview = act.Preview{Seen: &l.Holders[0], Sends: []string{"compare and delete on 5 masters"}}
	f.result = act.Result{Reason: act.NoQuorum, Seen: &l.Holders[0], HoldersAfter: l.Holders, Masters: []act.MasterResult{
		{Addr: "10.2.1.1:6379", Deleted: true}, {Addr: "10.2.1.2:6379"}, {Addr: "10.2.1.5:6379", Err: errors.New("no answer")},
	}}
	p := inChain(t, f, fixture.Everything(), "cart", "3 of 5 votes")
	p.keys("x")
	p.wait("Type the path", "no visible waiters", "compare and delete")
	p.keys("lock:cart:42\t")
	p.wait("enter RELEASE")
	p.keys("\r")
	p.wait("Not released (no-quorum)", "10.2.1.1:6379  deleted", "10.2.1.2:6379  held something else or nothing", "10.2.1.5:6379  no answer",
		"Now      ● Y2Nj")
}

// A key that cannot do anything says why.
func TestScreenDisabledKeysSayWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, word, sees, keys, want string
		releaser                     bool
		lock                         *inspect.Lock
	}{
		{"read-only", "orders", "holds it", "x", "read-only: start with --write", false, fixture.Orders()},
		{"free", "nightly", "free: nobody", "x", "nobody holds it: there is nothing to release", true, fixture.FreeLock()},
		{"a group", "library", "6 readers", "x", "open the group with enter and select one", true, library(6)},
		{"nobody known", "invoices", "split 2·2", "\r", "its owner is unknown", true, fixture.Split()},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f *fakeReleaser
			if test.releaser {
				f = newFakeReleaser()
			}
			p := inChain(t, f, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{test.lock, fixture.Readers()}), test.word, test.sees)
			p.keys(test.keys)
			p.wait(test.want)
			if strings.Contains(p.screen.text(), "Force-release") {
				t.Error("a dialog was opened")
			}
		})
	}
}
