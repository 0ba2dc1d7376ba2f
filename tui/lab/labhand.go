package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// takeState is the progress of an attempt to take a lock.
type takeState uint8

const (
	takeAsked     takeState = iota // nothing was heard yet
	takeWaits                      // its contender is in the queue
	takeHolds                      // it is ours
	takeReleasing                  // it is being given back
	takeLost                       // it was lost
	takeFailed                     // it was not taken
)

// Take is a lock that is being taken by hand, or was.
type Take struct {
	Id     int
	Order  Order
	within int // the take that was first granted what it re-entered; 0: none
	state  takeState
	name   string
	hold   Held
	token  uint64
	fenced bool // it has a token
	asked  time.Time
	got    time.Time
	// full is the longest time that was seen to be left.
	full time.Duration
	text string // the reason why it was lost or not taken
	// waiting ends when the waiting does; stop ends it.
	waiting context.Context
	Stop    context.CancelFunc
}

// over reports whether its state is final.
func (k *Take) over() bool { return k.state == takeLost || k.state == takeFailed }

// grant is the take that was first granted what this one holds.
func (k *Take) grant() int {
	if k.within != 0 {
		return k.within
	}
	return k.Id
}

// TakeWaitsMsg has the name of a take in the queue.
type TakeWaitsMsg struct {
	Id    int
	Name  string
	Names <-chan string
}

// TakeDoneMsg has the hold of a lock that was taken, or the error.
type TakeDoneMsg struct {
	Id   int
	Hold Held
	Err  error
}

// TakeFencedMsg reports a fencing token.
type TakeFencedMsg struct {
	Id    int
	Token uint64
	Ok    bool
}

// TakeEndedMsg follows the end of a hold's context.
type TakeEndedMsg struct {
	Id    int
	Cause error
}

// takeReleasedMsg has the outcome of a release, takeExtendedMsg that of an extension.
type (
	takeReleasedMsg struct {
		id  int
		err error
	}
	takeExtendedMsg struct {
		id  int
		err error
	}
)

const (
	tryLimit     = 10 * time.Second // to try once, and to connect
	releaseLimit = 10 * time.Second
	extendLimit  = 5 * time.Second
)

// hand has the locks taken by hand, and the attempts.
type hand struct {
	screen.Context
	lab   Driver // nil where nothing may be written
	Takes []*Take
	next  int
	list  widget.Scroller
}

func newHand(host screen.Context, lab Driver) *hand { return &hand{Context: host, lab: lab, next: 1} }

func (h *hand) find(id int) *Take {
	at := slices.IndexFunc(h.Takes, func(k *Take) bool { return k.Id == id })
	if at < 0 {
		return nil
	}
	return h.Takes[at]
}

// selected is the take under the cursor; nil if there is none.
func (h *hand) selected() *Take {
	if h.list.At >= len(h.Takes) {
		return nil
	}
	return h.Takes[h.list.At]
}

// ours reports whether a contender of that name was made by hand.
func (h *hand) ours(name inspect.Untrusted) bool {
	return slices.ContainsFunc(h.Takes, func(k *Take) bool { return k.name != "" && k.name == name.Raw() })
}

// has reports whether we hold a lock or wait for it.
func (h *hand) has(id inspect.ID) bool {
	return slices.ContainsFunc(h.Takes, func(k *Take) bool { return k.Order.Lock == id && !k.over() })
}

// holding counts the locks that we hold, until they are given back, and those that we wait for.
func (h *hand) holding() (held, waiting int) {
	for _, k := range h.Takes {
		switch k.state {
		case takeHolds, takeReleasing:
			held++
		case takeAsked, takeWaits:
			waiting++
		case takeLost, takeFailed:
		}
	}
	return held, waiting
}

// begin takes a lock.
func (h *hand) begin(o Order) tea.Cmd {
	k := h.Add(&Take{Order: o})
	limit := o.Wait
	if o.Try {
		limit = tryLimit
	}
	if limit > 0 {
		k.waiting, k.Stop = context.WithTimeout(h.Lifetime(), limit)
	} else {
		k.waiting, k.Stop = context.WithCancel(h.Lifetime())
	}
	ctx, lab, id, names := k.waiting, h.lab, k.Id, make(chan string, 1)
	waiting := func(name string) {
		select { // only the newest counts
		case <-names:
		default:
		}
		names <- name
	}
	acquire := h.Request(screen.Lab, 0, func(context.Context) tea.Msg {
		hold, err := lab.Acquire(ctx, o, waiting)
		return TakeDoneMsg{id, hold, err}
	})
	return tea.Batch(acquire, h.hear(ctx, id, names))
}

// hear waits for the name under which a take waits, or until the take ends.
func (h *hand) hear(ctx context.Context, id int, names <-chan string) tea.Cmd {
	return h.Request(screen.Lab, 0, func(program context.Context) tea.Msg {
		select {
		case name := <-names:
			return TakeWaitsMsg{id, name, names}
		case <-ctx.Done():
		case <-program.Done():
		}
		return nil
	})
}

func (h *hand) Add(k *Take) *Take {
	k.Id, k.asked = h.next, h.Clock()
	h.next++
	h.Takes = append(h.Takes, k)
	h.list.At = len(h.Takes) - 1
	return k
}

func (h *hand) remove(k *Take) {
	h.Takes = slices.DeleteFunc(h.Takes, func(o *Take) bool { return o == k })
	h.selected()
}

// reenter takes the lock of a hold again, inside of it.
func (h *hand) reenter(outer *Take) tea.Cmd {
	k := h.Add(&Take{Order: outer.Order, within: outer.grant(), Stop: func() {}})
	id, hold := k.Id, outer.hold
	return h.Request(screen.Lab, tryLimit, func(ctx context.Context) tea.Msg {
		inner, err := hold.Reenter(ctx)
		return TakeDoneMsg{id, inner, err}
	})
}

// end releases a hold, ends a wait, or removes a take that is over from the list.
func (h *hand) end(k *Take) tea.Cmd {
	switch k.state {
	case takeAsked, takeWaits:
		k.Stop()
		return nil
	case takeHolds:
		k.state = takeReleasing
		id, hold := k.Id, k.hold
		return h.Request(screen.Lab, releaseLimit, func(ctx context.Context) tea.Msg {
			return takeReleasedMsg{id, hold.Release(ctx)}
		})
	case takeLost, takeFailed:
		h.remove(k)
	}
	return nil
}

func (h *hand) extend(k *Take) tea.Cmd {
	id, hold := k.Id, k.hold
	return h.Request(screen.Lab, extendLimit, func(ctx context.Context) tea.Msg {
		return takeExtendedMsg{id, hold.Extend(ctx)}
	})
}

// Update takes what became of a take.
func (h *hand) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case TakeWaitsMsg:
		if k := h.find(msg.Id); k != nil && (k.state == takeAsked || k.state == takeWaits) {
			k.state, k.name = takeWaits, msg.Name
			return h.hear(k.waiting, msg.Id, msg.Names)
		}
	case TakeDoneMsg:
		return h.Done(msg)
	case TakeFencedMsg:
		if k := h.find(msg.Id); k != nil {
			k.token, k.fenced = msg.Token, msg.Ok
		}
	case TakeEndedMsg:
		h.ended(msg)
	case takeReleasedMsg:
		h.released(msg)
	case takeExtendedMsg:
		h.extended(msg)
	}
	return nil
}

func (h *hand) Done(msg TakeDoneMsg) tea.Cmd {
	k := h.find(msg.Id)
	if k == nil {
		return nil
	}
	k.Stop()
	if msg.Err != nil {
		k.state, k.text = takeFailed, notTaken(&k.Order, msg.Err)
		h.Flash(k.Order.Lock.String() + ": " + k.text)
		return nil
	}
	k.state, k.hold, k.name, k.got = takeHolds, msg.Hold, msg.Hold.Name(), h.Clock()
	h.Flash("you hold " + k.Order.Lock.String())
	id, hold := k.Id, msg.Hold
	return tea.Batch(
		h.Request(screen.Lab, tryLimit, func(context.Context) tea.Msg {
			token, ok := hold.Token()
			return TakeFencedMsg{id, token, ok}
		}),
		h.Request(screen.Lab, 0, func(ctx context.Context) tea.Msg {
			select {
			case <-hold.Context().Done():
				return TakeEndedMsg{id, context.Cause(hold.Context())}
			case <-ctx.Done():
				return nil
			}
		}))
}

// ended reports a loss, over every screen. The release itself reports the end of a take that is
// being released.
func (h *hand) ended(msg TakeEndedMsg) {
	k := h.find(msg.Id)
	if k == nil || k.state != takeHolds {
		return
	}
	h.lose(k, msg.Cause)
}

func (h *hand) lose(k *Take, cause error) {
	k.state, k.text = takeLost, "LOST: "+lossWords(cause)
	h.Report(screen.Loss{Lock: k.Order.Lock, Why: lossWords(cause), At: h.Clock()})
}

func (h *hand) released(msg takeReleasedMsg) {
	k := h.find(msg.id)
	if k == nil {
		return
	}
	name := k.Order.Lock.String()
	switch {
	case msg.err == nil:
		h.Flash(h.releasedWords(k))
		h.remove(k)
	case isLoss(msg.err):
		h.lose(k, msg.err)
	case isOthers(msg.err):
		k.state, k.text = takeFailed, "release not confirmed: "+describe.OneLine(msg.err)+"; nothing of ours is left"
		h.Flash(name + ": " + k.text)
	default:
		k.state, k.text = takeFailed, "release not confirmed: "+describe.OneLine(msg.err)+
			"; it is retried while the session lives; the lock is free at the latest when the session or the TTL ends"
		h.Flash(name + ": " + k.text)
	}
}

// releasedWords are the outcome of a hold's release.
func (h *hand) releasedWords(k *Take) string {
	holds, name := 0, k.Order.Lock.String()
	for _, o := range h.Takes {
		if o.grant() == k.grant() && (o.state == takeHolds || o.state == takeReleasing) {
			holds++
		}
	}
	if holds > 1 {
		return fmt.Sprintf("one of %d holds of %s released; still held", holds, name)
	}
	return "released " + name
}

func (h *hand) extended(msg takeExtendedMsg) {
	k := h.find(msg.id)
	switch {
	case k == nil || k.state != takeHolds:
	case msg.err != nil && isLoss(msg.err):
		h.lose(k, msg.err)
	case msg.err != nil:
		h.Flash("not extended: " + describe.OneLine(msg.err))
	default:
		left := ""
		if at, ok := k.hold.Deadline(); ok {
			left = fmt.Sprintf(": %s from now", describe.Age(at.Sub(h.Clock())))
		}
		h.Flash("confirmed with the servers, and extended" + left)
	}
}
