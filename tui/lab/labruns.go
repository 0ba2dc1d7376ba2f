package lab

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/screen"

	"github.com/lockscope/lockscope/inspect/describe"
)

// Side is one of the two contention runs.
type Side struct {
	Order    RunOptions
	run      Run // nil before it has begun
	stop     context.CancelFunc
	report   contend.Report
	attempts []attempt
	now      time.Time // of the newest beat
	Over     bool
	err      error
}

// runs manages two simultaneous contention runs on different kinds of lock, with the same times.
type runs struct {
	screen.Context
	lab        Driver // nil if nothing may be written
	List       []*Side
	Generation int
	last       *runForm // with the previous choices
}

func newRuns(host screen.Context, lab Driver) *runs { return &runs{Context: host, lab: lab} }

// runStartedMsg carries a run that has begun, or the error.
type runStartedMsg struct {
	generation, side int
	run              Run
	err              error
}

// RunTickMsg carries a run's report so far, and the events since the last one.
type RunTickMsg struct {
	Generation, Side int
	At               time.Time
	Report           contend.Report
	Events           []contend.Event
	over             bool
	err              error
}

// Running reports whether one of the two runs is under way.
func (c *runs) Running() bool {
	return slices.ContainsFunc(c.List, func(s *Side) bool { return !s.Over })
}

// begin starts the runs.
func (c *runs) begin(orders []RunOptions) tea.Cmd {
	c.Generation++
	c.List = nil
	var cmds []tea.Cmd
	for side, o := range orders {
		b := &Side{Order: o, now: c.Clock()}
		var ctx context.Context
		ctx, b.stop = context.WithCancel(c.Lifetime())
		c.List = append(c.List, b)
		lab, generation := c.lab, c.Generation
		cmds = append(cmds, c.Request(screen.Lab, 0, func(context.Context) tea.Msg {
			run, err := lab.Contend(ctx, o)
			return runStartedMsg{generation, side, run, err}
		}))
	}
	return tea.Batch(cmds...)
}

// End stops the runs; their figures stay.
func (c *runs) End() {
	for _, b := range c.List {
		if b.run != nil {
			b.run.Stop()
		} else {
			b.stop()
		}
	}
}

func (c *runs) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case runStartedMsg:
		b := c.run(msg.generation, msg.side)
		switch {
		case b == nil && msg.run != nil:
			msg.run.Stop()
		case b == nil:
		case msg.err != nil:
			b.stop()
			b.Over, b.err = true, msg.err
		default:
			b.run = msg.run
			return c.Beat(msg.side, b)
		}
	case RunTickMsg:
		b := c.run(msg.Generation, msg.Side)
		if b == nil {
			return nil
		}
		b.apply(msg)
		if b.Over {
			b.stop()
			return nil
		}
		return c.Beat(msg.Side, b)
	}
	return nil
}

func (c *runs) run(generation, side int) *Side {
	if generation != c.Generation || side >= len(c.List) {
		return nil
	}
	return c.List[side]
}

// Beat reports on a run four times a second, or its result once it is done. When the program
// ends, it stops the run and waits for it.
func (c *runs) Beat(side int, b *Side) tea.Cmd {
	run, generation := b.run, c.Generation
	return c.Request(screen.Lab, 0, func(ctx context.Context) tea.Msg {
		msg := RunTickMsg{Generation: generation, Side: side}
		timer := time.NewTimer(screen.FastBeat)
		defer timer.Stop()
		select {
		case <-timer.C:
			msg.Report, msg.Events = run.Snapshot(), Drain(run.Events())
		case <-run.Done():
			msg.Report, msg.err = run.Wait()
			msg.Events, msg.over = Drain(run.Events()), true
		case <-ctx.Done():
			run.Stop()
			_, _ = run.Wait() // the screen is gone
			return nil
		}
		msg.At = c.Clock()
		return msg
	})
}

// Drain returns the events that are ready.
func Drain(from <-chan contend.Event) (events []contend.Event) {
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

func (b *Side) apply(msg RunTickMsg) {
	if !b.report.Ended { // afterwards the picture stays
		b.now = msg.At
	}
	b.report, b.Over, b.err = msg.Report, msg.over, msg.err
	b.attempts = recordAttempts(b.attempts, msg.Events)
	b.attempts = forgetAttempts(b.attempts, b.now.Add(-b.length()))
}

// trouble is the gravest error of a run, safe to print; empty without one.
func (b *Side) trouble() string {
	switch {
	case errors.Is(b.err, context.Canceled):
		return "stopped before it began"
	case b.err != nil:
		return describe.OneLine(b.err)
	case len(b.report.Left) > 0:
		return "left behind: " + describe.Printable(b.report.Left[0])
	case b.report.LastError != nil:
		return describe.OneLine(b.report.LastError)
	}
	return ""
}

func (c *runs) actions() []screen.Action {
	busy := func() string {
		if why := c.CannotAcquire(); why != "" {
			return why
		}
		if c.Running() {
			return "a run is under way: . stops it"
		}
		return ""
	}
	idle := func() string {
		if !c.Running() {
			return "no run is under way: n starts one"
		}
		return ""
	}
	stop := screen.Action{
		Keys: []string{"."}, Shown: ".", Help: "stop the runs; their figures stay", Disabled: idle,
		Run: screen.Do(c.End),
	}
	if c.Running() {
		stop.Hint = "stop"
	}
	return []screen.Action{
		{
			Keys: []string{"n"}, Shown: "n", Hint: "new run",
			Help: "compare two kinds of lock under load: opens a form", Writes: true, Disabled: busy,
			Run: screen.Do(c.form),
		},
		stop,
	}
}
