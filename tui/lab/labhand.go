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

// takeState is the progress of an acquisition.
type takeState uint8

const (
	takeAsked     takeState = iota // nothing is known yet
	takeWaits                      // its contender is in the queue
	takeHolds                      // we hold it
	takeReleasing                  // it is being released
	takeLost                       // it was lost
	takeFailed                     // it was not acquired
)

// Take is an acquisition by the user.
type Take struct {
	Id     int
	Order  Order
	within int // the outermost take of a re-entered hold; 0 without re-entry
	state  takeState
	name   string
	hold   Held
	token  uint64
	fenced bool // it has a token
	asked  time.Time
	got    time.Time
	// full is the longest remaining time seen.
	full time.Duration
	text string // why it was lost or not acquired
	// waiting is the context of the wait; stop cancels it.
	waiting context.Context
	Stop    context.CancelFunc
}

// over reports whether its state is final.
func (k *Take) over() bool { return k.state == takeLost || k.state == takeFailed }

// grant is the outermost take of its hold.
func (k *Take) grant() int {
	if k.within != 0 {
		return k.within
	}
	return k.Id
}

// TakeWaitsMsg carries a take's name in the queue.
type TakeWaitsMsg struct {
	Id    int
	Name  string
	Names <-chan string
}

// TakeDoneMsg carries the hold of a finished acquisition, or its error.
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

// takeReleasedMsg is a release's outcome, takeExtendedMsg an extension's.
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

// hand manages the user's acquisitions.
type hand struct {
	screen.Context
	lab   Driver // nil if writing is impossible
	Takes []*Take
	next  int
	list  widget.Scroller
	last  inspect.ID // the lock of the take removed last
}

func newHand(host screen.Context, lab Driver) *hand { return &hand{Context: host, lab: lab, next: 1} }

func (h *hand) find(id int) *Take {
	at := slices.IndexFunc(h.Takes, func(k *Take) bool { return k.Id == id })
	if at < 0 {
		return nil
	}
	return h.Takes[at]
}

// selected is the take under the cursor; nil if none.
func (h *hand) selected() *Take {
	if h.list.At >= len(h.Takes) {
		return nil
	}
	return h.Takes[h.list.At]
}

// ours reports whether a contender of that name is the user's.
func (h *hand) ours(name inspect.Untrusted) bool {
	return slices.ContainsFunc(h.Takes, func(k *Take) bool { return k.name != "" && k.name == name.Raw() })
}

// has reports whether we hold or await a lock.
func (h *hand) has(id inspect.ID) bool {
	return slices.ContainsFunc(h.Takes, func(k *Take) bool { return k.Order.Lock == id && !k.over() })
}

// holding counts the locks that we hold, until they are released, and those that we await.
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

// begin acquires a lock.
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

// hear waits for a take's name in the queue, or for its end.
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
	h.Takes, h.last = slices.DeleteFunc(h.Takes, func(o *Take) bool { return o == k }), k.Order.Lock
	h.selected()
}

// reenter acquires the lock again with the context of a hold.
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

// Update handles the progress of takes.
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

// ended reports a loss on top of every screen. A take that is being released ends with its own
// message.
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

// releasedWords describe the outcome of a hold's release.
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
