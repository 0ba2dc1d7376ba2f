package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/lockops/contend"

	"lockscope/inspect/describe"
)

// bout is one of the two contention runs beside each other.
type bout struct {
	order  Contest
	run    Contention // nil before it has begun
	stop   context.CancelFunc
	report contend.Report
	visits []visit
	now    time.Time // of the newest beat
	over   bool
	err    error
}

// contest is two contention runs at once, each of another kind of lock, with the same times.
type contest struct {
	Context
	lab        Lab // nil where nothing may be written
	bouts      []*bout
	generation int
	last       *contestForm // the choices of the last time
}

func newContest(host Context, lab Lab) *contest { return &contest{Context: host, lab: lab} }

// contestStartedMsg says that a run has begun, or why not.
type contestStartedMsg struct {
	generation, side int
	run              Contention
	err              error
}

// contestBeatMsg is how a run stands.
type contestBeatMsg struct {
	generation, side int
	at               time.Time
	report           contend.Report
	events           []contend.Event
	over             bool
	err              error
}

// running says that something of a contest is under way.
func (c *contest) running() bool {
	for _, b := range c.bouts {
		if !b.over {
			return true
		}
	}
	return false
}

// begin starts the runs.
func (c *contest) begin(orders []Contest) tea.Cmd {
	c.generation++
	c.bouts = nil
	var cmds []tea.Cmd
	for side, o := range orders {
		b := &bout{order: o, now: c.Clock()}
		var ctx context.Context
		ctx, b.stop = context.WithCancel(c.Life())
		c.bouts = append(c.bouts, b)
		lab, generation := c.lab, c.generation
		cmds = append(cmds, c.Ask(labScreen, 0, func(context.Context) tea.Msg {
			run, err := lab.Contend(ctx, o)
			return contestStartedMsg{generation, side, run, err}
		}))
	}
	return tea.Batch(cmds...)
}

// end stops the runs; their figures stay.
func (c *contest) end() {
	for _, b := range c.bouts {
		if b.run != nil {
			b.run.Stop()
		} else {
			b.stop()
		}
	}
}

func (c *contest) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case contestStartedMsg:
		b := c.bout(msg.generation, msg.side)
		switch {
		case b == nil && msg.run != nil:
			msg.run.Stop()
		case b == nil:
		case msg.err != nil:
			b.stop()
			b.over, b.err = true, msg.err
		default:
			b.run = msg.run
			return c.beat(msg.side, b)
		}
	case contestBeatMsg:
		b := c.bout(msg.generation, msg.side)
		if b == nil {
			return nil
		}
		b.take(msg)
		if b.over {
			b.stop()
			return nil
		}
		return c.beat(msg.side, b)
	}
	return nil
}

func (c *contest) bout(generation, side int) *bout {
	if generation != c.generation || side >= len(c.bouts) {
		return nil
	}
	return c.bouts[side]
}

// beat looks at a run four times a second, and waits for its end when it has come or the program ends.
func (c *contest) beat(side int, b *bout) tea.Cmd {
	run, generation := b.run, c.generation
	return c.Ask(labScreen, 0, func(ctx context.Context) tea.Msg {
		msg := contestBeatMsg{generation: generation, side: side}
		timer := time.NewTimer(fastBeat)
		defer timer.Stop()
		select {
		case <-timer.C:
			msg.report, msg.events = run.Snapshot(), drain(run.Events())
		case <-run.Done():
			msg.report, msg.err = run.Wait()
			msg.events, msg.over = drain(run.Events()), true
		case <-ctx.Done():
			run.Stop()
			_, _ = run.Wait() // nobody is there any more to be told
			return nil
		}
		msg.at = c.Clock()
		return msg
	})
}

// drain takes the events that are there.
func drain(from <-chan contend.Event) (events []contend.Event) {
	for {
		select {
		case e, ok := <-from:
			if !ok {
				return events
			}
			events = append(events, e)
		default:
			return events
		}
	}
}

func (b *bout) take(msg contestBeatMsg) {
	if !b.report.Ended { // then the picture stands
		b.now = msg.at
	}
	b.report, b.over, b.err = msg.report, msg.over, msg.err
	b.visits = noteVisits(b.visits, msg.events)
	b.visits = forgetVisits(b.visits, b.now.Add(-b.length()))
}

// trouble is why a run says nothing, or what went wrong in it; empty when nothing did.
func (b *bout) trouble() string {
	switch {
	case errors.Is(b.err, context.Canceled):
		return "stopped before it began"
	case b.err != nil:
		return describe.Printable(b.err.Error())
	case len(b.report.Left) > 0:
		return "left behind: " + describe.Printable(b.report.Left[0])
	case b.report.LastError != nil:
		return describe.Printable(b.report.LastError.Error())
	}
	return ""
}

func (c *contest) actions() []action {
	busy := func() string {
		if why := c.ReadOnly(); why != "" {
			return why
		}
		if c.running() {
			return "a run is under way: . stops it"
		}
		return ""
	}
	idle := func() string {
		if !c.running() {
			return "no run is under way: n starts one"
		}
		return ""
	}
	return []action{
		{keys: []string{"n"}, shown: "n", hint: "new run", help: "let contenders fight for two locks made for that: opens a form", writes: true, disabled: busy, run: do(c.form)},
		{keys: []string{"."}, shown: ".", hint: "stop", help: "stop the runs; their figures stay", disabled: idle, run: do(c.end)},
	}
}
