package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// takeState is how far an attempt to take a lock is.
type takeState uint8

const (
	takeAsked     takeState = iota // nothing was heard yet
	takeWaits                      // its contender stands in the queue
	takeHolds                      // it is ours
	takeReleasing                  // it is being given back
	takeLost                       // it was lost
	takeFailed                     // it was not taken
)

// take is a lock that is being taken by hand, or was.
type take struct {
	id     int
	order  Taking
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
	text string // why it was lost or not taken
	// waiting ends when the waiting does; stop ends it.
	waiting context.Context
	stop    context.CancelFunc
}

// over says that nothing more will come of it.
func (k *take) over() bool { return k.state == takeLost || k.state == takeFailed }

// grant is the take that was first granted what this one holds.
func (k *take) grant() int {
	if k.within != 0 {
		return k.within
	}
	return k.id
}

// takeWaitsMsg says that a take stands in the queue under a name.
type takeWaitsMsg struct {
	id    int
	name  string
	names <-chan string
}

// takeDoneMsg says that a lock was taken, or why not.
type takeDoneMsg struct {
	id   int
	hold Held
	err  error
}

// takeFencedMsg tells a fencing token.
type takeFencedMsg struct {
	id    int
	token uint64
	ok    bool
}

// takeEndedMsg says that a hold has ended.
type takeEndedMsg struct {
	id    int
	cause error
}

// takeReleasedMsg says what came of a release, takeExtendedMsg of an extension.
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

// hand is what was taken by hand.
type hand struct {
	Context
	lab    Lab // nil where nothing may be written
	takes  []*take
	next   int
	cursor int
	top    int
}

func newHand(host Context, lab Lab) *hand { return &hand{Context: host, lab: lab, next: 1} }

func (h *hand) find(id int) *take {
	at := slices.IndexFunc(h.takes, func(k *take) bool { return k.id == id })
	if at < 0 {
		return nil
	}
	return h.takes[at]
}

// selected is the take that the cursor is on; nil when there is none.
func (h *hand) selected() *take {
	h.cursor = max(0, min(h.cursor, len(h.takes)-1))
	if len(h.takes) == 0 {
		return nil
	}
	return h.takes[h.cursor]
}

// ours says that a contender of that name was made by hand.
func (h *hand) ours(name inspect.Untrusted) bool {
	return slices.ContainsFunc(h.takes, func(k *take) bool { return k.name != "" && k.name == name.Raw() })
}

// holding counts the locks that we hold, or wait for.
func (h *hand) holding() (n int) {
	for _, k := range h.takes {
		if !k.over() {
			n++
		}
	}
	return n
}

// begin takes a lock.
func (h *hand) begin(o Taking) tea.Cmd {
	k := h.add(&take{order: o})
	limit := o.Wait
	if o.Try {
		limit = tryLimit
	}
	if limit > 0 {
		k.waiting, k.stop = context.WithTimeout(h.Life(), limit)
	} else {
		k.waiting, k.stop = context.WithCancel(h.Life())
	}
	ctx, lab, id, names := k.waiting, h.lab, k.id, make(chan string, 1)
	waiting := func(name string) {
		select { // only the newest counts
		case <-names:
		default:
		}
		names <- name
	}
	acquire := h.Ask(labScreen, 0, func(context.Context) tea.Msg {
		hold, err := lab.Acquire(ctx, o, waiting)
		return takeDoneMsg{id, hold, err}
	})
	return tea.Batch(acquire, h.hear(ctx, id, names))
}

// hear waits until it is told under which name a take waits, or until the take ends.
func (h *hand) hear(ctx context.Context, id int, names <-chan string) tea.Cmd {
	return h.Ask(labScreen, 0, func(program context.Context) tea.Msg {
		select {
		case name := <-names:
			return takeWaitsMsg{id, name, names}
		case <-ctx.Done():
		case <-program.Done():
		}
		return nil
	})
}

func (h *hand) add(k *take) *take {
	k.id, k.asked = h.next, h.Clock()
	h.next++
	h.takes = append(h.takes, k)
	h.cursor = len(h.takes) - 1
	return k
}

func (h *hand) remove(k *take) {
	h.takes = slices.DeleteFunc(h.takes, func(o *take) bool { return o == k })
	h.selected()
}

// reenter takes the lock of a hold again, inside of it.
func (h *hand) reenter(outer *take) tea.Cmd {
	k := h.add(&take{order: outer.order, within: outer.grant(), stop: func() {}})
	id, hold := k.id, outer.hold
	return h.Ask(labScreen, tryLimit, func(ctx context.Context) tea.Msg {
		inner, err := hold.Reenter(ctx)
		return takeDoneMsg{id, inner, err}
	})
}

// end releases a hold, ends a wait, or takes what is over from the list.
func (h *hand) end(k *take) tea.Cmd {
	switch k.state {
	case takeAsked, takeWaits:
		k.stop()
		return nil
	case takeHolds:
		k.state = takeReleasing
		id, hold := k.id, k.hold
		return h.Ask(labScreen, releaseLimit, func(ctx context.Context) tea.Msg {
			return takeReleasedMsg{id, hold.Release(ctx)}
		})
	case takeLost, takeFailed:
		h.remove(k)
	}
	return nil
}

func (h *hand) extend(k *take) tea.Cmd {
	id, hold := k.id, k.hold
	return h.Ask(labScreen, extendLimit, func(ctx context.Context) tea.Msg {
		return takeExtendedMsg{id, hold.Extend(ctx)}
	})
}

// Update takes what became of a take.
func (h *hand) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case takeWaitsMsg:
		if k := h.find(msg.id); k != nil && (k.state == takeAsked || k.state == takeWaits) {
			k.state, k.name = takeWaits, msg.name
			return h.hear(k.waiting, msg.id, msg.names)
		}
	case takeDoneMsg:
		return h.done(msg)
	case takeFencedMsg:
		if k := h.find(msg.id); k != nil {
			k.token, k.fenced = msg.token, msg.ok
		}
	case takeEndedMsg:
		h.ended(msg)
	case takeReleasedMsg:
		h.released(msg)
	case takeExtendedMsg:
		h.extended(msg)
	}
	return nil
}

func (h *hand) done(msg takeDoneMsg) tea.Cmd {
	k := h.find(msg.id)
	if k == nil {
		return nil
	}
	k.stop()
	if msg.err != nil {
		k.state, k.text = takeFailed, notTaken(&k.order, msg.err)
		h.Flash(k.order.Lock.String() + ": " + k.text)
		return nil
	}
	k.state, k.hold, k.name, k.got = takeHolds, msg.hold, msg.hold.Name(), h.Clock()
	h.Flash("you hold " + k.order.Lock.String())
	id, hold := k.id, msg.hold
	return tea.Batch(
		h.Ask(labScreen, tryLimit, func(context.Context) tea.Msg {
			token, ok := hold.Token()
			return takeFencedMsg{id, token, ok}
		}),
		h.Ask(labScreen, 0, func(ctx context.Context) tea.Msg {
			select {
			case <-hold.Context().Done():
				return takeEndedMsg{id, context.Cause(hold.Context())}
			case <-ctx.Done():
				return nil
			}
		}))
}

// ended tells a loss, loudly. The end of what is being released is told by the release.
func (h *hand) ended(msg takeEndedMsg) {
	k := h.find(msg.id)
	if k == nil || k.state != takeHolds {
		return
	}
	h.lose(k, msg.cause)
}

func (h *hand) lose(k *take, cause error) {
	k.state, k.text = takeLost, "LOST: "+lossWords(cause)
	h.Report(loss{k.order.Lock, lossWords(cause), h.Clock()})
}

func (h *hand) released(msg takeReleasedMsg) {
	k := h.find(msg.id)
	if k == nil {
		return
	}
	name := k.order.Lock.String()
	switch {
	case msg.err == nil:
		h.Flash(h.releasedWords(k))
		h.remove(k)
	case isLoss(msg.err):
		h.lose(k, msg.err)
	default:
		k.state, k.text = takeFailed, "release not confirmed: "+describe.Printable(msg.err.Error())+"; it is tried on while the session lives, and freed at the latest when that or the TTL ends"
		h.Flash(name + ": " + k.text)
	}
}

// releasedWords say what the release of a hold came to.
func (h *hand) releasedWords(k *take) string {
	holds, name := 0, k.order.Lock.String()
	for _, o := range h.takes {
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
		h.Flash("not extended: " + describe.Printable(msg.err.Error()))
	default:
		left := ""
		if at, ok := k.hold.Deadline(); ok {
			left = fmt.Sprintf(": %s from now", describe.Age(at.Sub(h.Clock())))
		}
		h.Flash("proved to the servers, and extended" + left)
	}
}
