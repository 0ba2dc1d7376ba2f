package lab

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// target is a kind of lock for a contention run.
type target struct {
	backend, name string
	inOrder       bool // it promises first come, first served
}

func (a target) String() string {
	return describe.Printable(a.backend) + ": " + describe.Printable(a.name)
}

// targetsOf returns all targets. left and right are the most instructive pair: a ZooKeeper queue
// and a Redis lock if both exist. right is -1 if there is only one target.
func targetsOf(backends []Backend) (all []target, left, right int) {
	left, right = -1, -1
	for _, b := range backends {
		for i, name := range b.Targets {
			if b.ZooKeeper && i == 0 && left < 0 {
				left = len(all)
			}
			if !b.ZooKeeper && i == 0 && right < 0 {
				right = len(all)
			}
			all = append(all, target{b.Name, name, b.ZooKeeper || name == "fair"})
		}
	}
	switch {
	case left < 0 && right >= 0:
		left, right = right, -1
	case left < 0:
		left = 0
	}
	if right < 0 {
		for i := range all {
			if i != left {
				right = i
				break
			}
		}
	}
	return all, left, right
}

// The rows of the form of a contention run.
const (
	runLeft = iota
	runRight
	runWorkers
	runHold
	runThink
	runFor
	runSeed
)

// runForm asks for the options of a contention run.
type runForm struct {
	screen.Context
	widget.Form
	runs    *runs
	targets []target
	pending []RunOptions // to begin once writing is allowed
}

// form opens the form with the previous choices.
func (c *runs) form() {
	if c.last == nil {
		c.last = newRunForm(c)
	}
	c.last.Form.At, c.last.Form.Note, c.last.pending = 0, "", nil
	if c.last.Button = "Run"; c.ReadOnly() != "" {
		c.last.Button = "Allow writing and run"
	}
	c.Push(c.last)
}

func newRunForm(c *runs) *runForm {
	d := &runForm{Context: c.Context, runs: c}
	var left, right int
	d.targets, left, right = targetsOf(c.lab.Backends())
	var names []string
	for _, a := range d.targets {
		names = append(names, a.String())
	}
	d.Check = func() string {
		_, why := d.orders()
		return seeAbove(why)
	}
	d.Rows = []widget.FormRow{
		{Label: "compare", Choices: names, At: left},
		{Label: "with", Choices: append(names[:len(names):len(names)], "nothing"), At: right},
		{Label: "workers", Choices: []string{"2", "4", "6", "8", "12", "16", "32"}, At: 2},
		{Label: "hold", Choices: []string{"1ms", "10ms", "50ms", "150ms", "500ms", "2s"}, At: 3},
		{Label: "pause", Choices: []string{"0s", "10ms", "100ms", "500ms", "2s"}, At: 2},
		{Label: "for", Choices: []string{"10s", "20s", "1m", "no limit"}},
		{Label: "seed", Typed: widget.NewField("1")},
	}
	if right < 0 {
		d.Rows[runRight].At = len(names)
	}
	return d
}

// orders are the requested runs. If they are not possible, why is the reason.
func (d *runForm) orders() (orders []RunOptions, why string) {
	if len(d.targets) == 0 {
		return nil, "Locks cannot be acquired on any backend."
	}
	seed, err := strconv.ParseUint(d.Rows[runSeed].Typed.Value(), 10, 64)
	if err != nil {
		return nil, "The seed must be a whole number, 0 or more."
	}
	length := func(row int) time.Duration {
		t, _ := time.ParseDuration(d.Rows[row].Choice()) // 0 for "no limit"
		return t
	}
	workers, _ := strconv.Atoi(d.Rows[runWorkers].Choice()) // all choices are numbers
	o := RunOptions{
		Contenders: workers, Hold: length(runHold), Think: length(runThink), For: length(runFor), Seed: seed,
	}
	for _, row := range []int{runLeft, runRight} {
		if at := d.Rows[row].At; at >= 0 && at < len(d.targets) {
			o.Backend, o.Target, o.InOrder = d.targets[at].backend, d.targets[at].name, d.targets[at].inOrder
			orders = append(orders, o)
		}
	}
	return orders, ""
}

// Update handles keys.
func (d *runForm) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case screen.ArmedMsg:
		if d.pending != nil {
			return d.runs.begin(d.pending), true
		}
	case tea.PasteMsg:
		d.Form.Paste()
	case tea.KeyPressMsg:
		confirmed, closed, changed := d.Form.Press(msg)
		if changed {
			d.pending = nil
		}
		if !confirmed {
			return nil, closed
		}
		orders, _ := d.orders()
		if arm := d.Arm(); arm != nil {
			d.pending = orders
			return arm, false
		}
		return d.runs.begin(orders), true
	}
	return nil, false
}

// Actions are the form's keys.
func (d *runForm) Actions() []screen.Action { return screen.FormActions(&d.Form) }

// View draws the form, a preview and the buttons.
func (d *runForm) View(width, height int) string {
	t := d.Theme()
	width = min(width-4, 74)
	lines := append([]widget.Line{{{"Compare two kinds of lock", t.Strong}}, nil},
		widget.FormLines(d.Theme(), &d.Form, width)...)
	orders, why := d.orders()
	text := "Creates a temporary lock on each, and a session for every worker; all are removed afterwards. " +
		"The run puts load on the servers. " +
		"Each worker holds the lock, releases it, pauses and tries again; the seed makes its random times repeatable."
	if why != "" {
		text = why
	}
	lines = append(lines, nil)
	for _, part := range widget.Wrap(text, width, 4, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{part, t.Muted}})
	}
	return widget.Box(t, append(lines, nil, widget.FormButtons(d.Theme(), &d.Form, len(orders) == 0)), width, height,
		false)
}
