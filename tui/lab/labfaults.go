package lab

import (
	"context"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// fault is something to inject into the sandbox.
type fault struct {
	// label is its name, shows is its expected effect.
	label, shows string
	// off is the reason why it is disabled; empty if it is not.
	off string
	do  func(Faults) error
}

// faultTarget is a lock, and one of its contenders for the faults that hit a contender.
type faultTarget struct {
	lock      *inspect.Lock // nil if none
	contender *inspect.Contender
	left      bool // the contender is not in the lock now
	frozen    bool
	masters   []Master
	// ours reports whether a contender was taken by hand.
	ours func(name inspect.Untrusted) bool
}

// Master is a Redis master of the sandbox.
type Master struct {
	Addr    string
	Stopped bool
}

// faultsOf lists the faults. Disabled ones have a reason.
func faultsOf(f faultTarget) []fault {
	list := []fault{freezing(f)}
	list = append(list, sessionFaults(f)...)
	for _, m := range f.masters {
		list = append(list, masterFault(m))
	}
	return list
}

func freezing(f faultTarget) fault {
	switch {
	case f.lock == nil:
		return fault{label: "freeze the holder", off: "no lock is selected"}
	case f.frozen:
		id := f.lock.ID.String()
		return fault{
			label: "thaw the holder of " + inspect.Escape(f.lock.ID.Path),
			shows: "it continues, and releases the lock when its work is done",
			do:    func(s Faults) error { s.Thaw(id); return nil },
		}
	}
	id, now := f.lock.ID.String(), "no holder now, so the next one freezes"
	label := "freeze the holder of " + inspect.Escape(f.lock.ID.Path)
	if len(f.lock.Holders) > 0 {
		h := &f.lock.Holders[0]
		now = "now " + describe.Owner(h)
		switch {
		case h.Persistent:
			return fault{label: label, off: describe.Owner(h) + " has no client to freeze"}
		case f.ours != nil && f.ours(h.Name):
			return fault{label: label, off: "it is yours: it is held until you release it"}
		}
	}
	return fault{
		label: label,
		shows: now + ": it stays alive but does not release, like a hung process; the queue grows until you thaw it",
		do:    func(s Faults) error { s.Freeze(id); return nil },
	}
}

// sessionFaults are the faults on the contender's session.
func sessionFaults(f faultTarget) []fault {
	expire, cut := fault{label: "expire a session"}, fault{label: "cut a connection"}
	switch {
	case f.contender == nil:
		expire.off = "the lock has no contender"
	case f.contender.Persistent:
		expire.off = "no session owns the node of " + describe.Owner(f.contender)
	case f.contender.Owner.Session == 0:
		expire.off = describe.Owner(f.contender) + " has no session: only ZooKeeper has sessions"
	}
	if expire.off != "" {
		cut.off = expire.off
		return []fault{expire, cut}
	}
	name, id := describe.Owner(f.contender), f.contender.Owner.Session
	expire.label, cut.label = "expire the session of "+name, "cut the connection of "+name
	if f.left {
		expire.off = name + " left the lock; press w for the next"
		cut.off = expire.off
		return []fault{expire, cut}
	}
	expire.do = func(s Faults) error { return s.ExpireSession(id) }
	cut.do = func(s Faults) error { return s.Cut(id) }
	cut.shows = "it reconnects within its session timeout and keeps its place"
	expire.shows = "its node is deleted; its watchers check again and move up"
	if f.contender.State == inspect.Holding {
		expire.shows = "its node is deleted; without waiters the lock is free"
		if len(f.lock.Waiters) > 0 {
			expire.shows = "its node is deleted; " + describe.Owner(&f.lock.Waiters[0]) +
				", next in the queue, gets the lock at once"
		}
	}
	return []fault{expire, cut}
}

func masterFault(m Master) fault {
	if m.Stopped {
		return fault{
			label: "start master " + describe.Printable(m.Addr),
			shows: "it returns with its data, and its votes count again",
			do:    func(s Faults) error { return s.StartMaster(m.Addr) },
		}
	}
	return fault{
		label: "stop master " + describe.Printable(m.Addr),
		shows: "its votes are unknown: locks with a bare quorum have no spare votes",
		do:    func(s Faults) error { return s.StopMaster(m.Addr) },
	}
}

// faults is the pane that injects faults into the sandbox and shows their effects.
type faults struct {
	screen.Context
	sandbox Faults // nil if none
	about   inspect.ID
	chosen  *inspect.Contender // as it was when chosen; nil means the first in the lock
	frozen  bool
	Masters []Master
	looking bool
	looked  time.Time
	list    widget.Scroller
	// label is the selected fault's label when last drawn. changed is when that label last
	// changed without a key press.
	label   string
	changed time.Time
	// done is the last fault's label, at its time, and first the number of the next event.
	done  string
	at    time.Time
	first int
	from  inspect.ID // the lock that it was about
	ours  func(name inspect.Untrusted) bool
}

func newFaults(host screen.Context, sandbox Faults, ours func(inspect.Untrusted) bool) *faults {
	return &faults{Context: host, sandbox: sandbox, ours: ours}
}

// faultDoneMsg carries the outcome of a fault, faultsSeenMsg the sandbox's state.
type (
	faultDoneMsg struct {
		label string
		err   error
	}
	faultsSeenMsg struct {
		lock    inspect.ID
		frozen  bool
		masters []Master
	}
)

// relabelGuard delays a fault whose label has just changed, so that the user can read it.
const relabelGuard = time.Second

// faultLimit bounds a fault: stopping and starting servers takes seconds.
const faultLimit = 10 * time.Second

// show switches to another lock and contender.
func (f *faults) show(about screen.Subject) {
	f.about, f.chosen = about.Lock, nil
	defer f.read()
	l := f.Snapshot().Lock(about.Lock)
	if l == nil || about.Owner == (inspect.Identity{}) {
		return
	}
	for _, c := range ContendersOf(l) {
		if id, ok := c.Identity(about.Lock.Backend); ok && id == about.Owner {
			f.keep(c)
			return
		}
	}
}

// keep targets a contender until another is chosen.
func (f *faults) keep(c *inspect.Contender) {
	alone := *c // not the whole queue
	f.chosen = &alone
}

// pin chooses a contender if none is chosen.
func (f *faults) pin() {
	if t := f.target(); f.chosen == nil && t.contender != nil {
		f.keep(t.contender)
		f.read()
	}
}

// repin chooses another contender if the chosen one has left.
func (f *faults) repin() {
	if f.target().left {
		f.chosen = nil
		f.pin()
	}
}

// read marks the selected fault's label as read, since the user has just chosen it.
func (f *faults) read() { f.label, f.changed = f.selected().label, time.Time{} }

// recordLabel records when the selected fault's label changes.
func (f *faults) recordLabel() {
	if label := f.selected().label; label != f.label {
		f.label, f.changed = label, f.Clock()
	}
}

// selected is the fault that the cursor is on.
func (f *faults) selected() fault {
	list := faultsOf(f.target())
	return list[max(0, min(f.list.At, len(list)-1))]
}

func ContendersOf(l *inspect.Lock) []*inspect.Contender {
	var list []*inspect.Contender
	for i := range l.Holders {
		list = append(list, &l.Holders[i])
	}
	for i := range l.Waiters {
		list = append(list, &l.Waiters[i])
	}
	return list
}

// again finds a contender that has moved in its queue, or that queued again with the same
// session; nil if it is gone.
func again(all []*inspect.Contender, was *inspect.Contender) *inspect.Contender {
	for _, same := range []func(c *inspect.Contender) bool{
		func(c *inspect.Contender) bool { return c.Name == was.Name },
		func(c *inspect.Contender) bool { return was.Owner.Session != 0 && c.Owner.Session == was.Owner.Session },
	} {
		if at := slices.IndexFunc(all, same); at >= 0 {
			return all[at]
		}
	}
	return nil
}

// target comes from the newest snapshot, since locks change hands meanwhile.
func (f *faults) target() faultTarget {
	t := faultTarget{lock: f.Snapshot().Lock(f.about), frozen: f.frozen, masters: f.Masters, ours: f.ours}
	if t.lock == nil {
		return t
	}
	all := ContendersOf(t.lock)
	switch {
	case f.chosen != nil:
		if t.contender = again(all, f.chosen); t.contender == nil {
			t.contender, t.left = f.chosen, true
		}
	case len(all) > 0:
		t.contender = all[0]
	}
	return t
}

// nextContender chooses the next contender of the lock.
func (f *faults) nextContender() {
	t := f.target()
	if t.lock == nil {
		return
	}
	if all := ContendersOf(t.lock); len(all) > 0 {
		f.keep(all[(slices.Index(all, t.contender)+1)%len(all)])
		f.read()
	}
}

// look reads the sandbox's state, at most twice a second.
func (f *faults) look() tea.Cmd {
	now := f.Clock()
	if f.sandbox == nil || f.looking || now.Sub(f.looked) < screen.SlowBeat/2 {
		return nil
	}
	f.looking = true
	box, lock := f.sandbox, f.about
	return f.Request(screen.Lab, faultLimit, func(context.Context) tea.Msg {
		msg := faultsSeenMsg{lock: lock, frozen: box.Frozen(lock.String())}
		for _, addr := range box.Masters() {
			msg.masters = append(msg.masters, Master{addr, box.Stopped(addr)})
		}
		return msg
	})
}

func (f *faults) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case faultsSeenMsg:
		f.looking, f.looked = false, f.Clock()
		f.Masters = msg.masters
		if f.frozen = msg.frozen; msg.lock != f.about {
			f.frozen, f.looked = false, time.Time{}
			return f.look()
		}
		f.recordLabel()
	case faultDoneMsg:
		if msg.err != nil {
			f.done = msg.label + ": " + describe.OneLine(msg.err)
			f.Flash(f.done)
		}
		f.looked = time.Time{}
		return f.look()
	}
	return nil
}

// inject injects the selected fault, unless its label has only just changed.
func (f *faults) inject() tea.Cmd {
	f.recordLabel()
	chosen := f.selected()
	if f.Clock().Sub(f.changed) < relabelGuard {
		f.Flash("just changed to " + strconv.Quote(chosen.label) + ": press again")
		return nil
	}
	f.done, f.at, f.first, f.from = chosen.label, f.Clock(), f.Log().End(), f.about
	box := f.sandbox
	return f.Request(screen.Lab, faultLimit, func(context.Context) tea.Msg {
		return faultDoneMsg{chosen.label, chosen.do(box)}
	})
}

func (f *faults) move(by int) {
	f.list.At = max(0, min(f.list.At+by, len(faultsOf(f.target()))-1))
	f.repin()
	f.read()
}

func (f *faults) click(row int) {
	if at := f.list.Top + row; at < len(faultsOf(f.target())) {
		f.list.At = at
		f.repin()
		f.read()
	}
}

func (f *faults) actions() []screen.Action {
	off := func() string { return f.selected().off }
	few := func() string {
		t := f.target()
		switch {
		case t.lock == nil, t.lock.Contention() == 0, t.lock.Contention() == 1 && !t.left:
			return "the lock has no other contender"
		}
		return ""
	}
	return []screen.Action{
		{
			Keys: []string{"!", "enter"}, Shown: "! enter", Hint: "inject",
			Help: "inject the selected fault into the sandbox", Writes: true, Disabled: off, Run: f.inject,
		},
		{
			Keys: []string{"w"}, Shown: "w", Hint: "who", Help: "select the next contender of the lock", Disabled: few,
			Run: screen.Do(f.nextContender),
		},
	}
}
