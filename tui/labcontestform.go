package tui

import (
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect/describe"
)

// arena is what a contention run can be about.
type arena struct{ backend, name string }

func (a arena) String() string {
	return describe.Printable(a.backend) + ": " + describe.Printable(a.name)
}

// arenasOf are all that there are; left and right are those that show the most: a queue of ZooKeeper's and a lock of Redis'
// where there are both. right is -1 when there is but one.
func arenasOf(backends []LabBackend) (all []arena, left, right int) {
	left, right = -1, -1
	for _, b := range backends {
		for i, name := range b.Arenas {
			if b.ZooKeeper && i == 0 && left < 0 {
				left = len(all)
			}
			if !b.ZooKeeper && i == 0 && right < 0 {
				right = len(all)
			}
			all = append(all, arena{b.Name, name})
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
	contestLeft = iota
	contestRight
	contestWorkers
	contestHold
	contestThink
	contestFor
	contestSeed
)

// contestForm asks what a contention run is to be.
type contestForm struct {
	Context
	form
	contest *contest
	arenas  []arena
}

// form opens the form, with the choices of the last time.
func (c *contest) form() {
	if c.last == nil {
		c.last = newContestForm(c)
	}
	c.last.form.at, c.last.form.note = len(c.last.rows)-1, ""
	c.Push(c.last)
}

func newContestForm(c *contest) *contestForm {
	d := &contestForm{Context: c.Context, contest: c}
	var left, right int
	d.arenas, left, right = arenasOf(c.lab.Backends())
	var names []string
	for _, a := range d.arenas {
		names = append(names, a.String())
	}
	d.button = "Run"
	d.rows = []formRow{
		{label: "one", choices: names, at: left},
		{label: "against", choices: append(names[:len(names):len(names)], "nothing"), at: right},
		{label: "workers", choices: []string{"2", "4", "6", "8", "12", "16", "32"}, at: 2},
		{label: "hold", choices: []string{"1ms", "10ms", "50ms", "150ms", "500ms", "2s"}, at: 3},
		{label: "think", choices: []string{"0s", "10ms", "100ms", "500ms", "2s"}, at: 2},
		{label: "for", choices: []string{"10s", "20s", "1m", "until I stop"}, at: 1},
		{label: "seed", typed: newField("1")},
	}
	if right < 0 {
		d.rows[contestRight].at = len(names)
	}
	return d
}

// orders are the runs that are asked for, or why they cannot be had.
func (d *contestForm) orders() (orders []Contest, why string) {
	if len(d.arenas) == 0 {
		return nil, "There is no backend that locks can be taken on."
	}
	seed, err := strconv.ParseUint(d.rows[contestSeed].typed.value(), 10, 64)
	if err != nil {
		return nil, "The seed is a number from 0 on."
	}
	length := func(row int) time.Duration {
		t, _ := time.ParseDuration(d.rows[row].choice()) // what is no time lasts until it is stopped
		return t
	}
	workers, _ := strconv.Atoi(d.rows[contestWorkers].choice()) // they are numbers
	o := Contest{Contenders: workers, Hold: length(contestHold), Think: length(contestThink), For: length(contestFor), Seed: seed}
	for _, row := range []int{contestLeft, contestRight} {
		if at := d.rows[row].at; at >= 0 && at < len(d.arenas) {
			o.Backend, o.Arena = d.arenas[at].backend, d.arenas[at].name
			orders = append(orders, o)
		}
	}
	return orders, ""
}

// Update takes keys.
func (d *contestForm) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		d.form.paste()
	case tea.KeyPressMsg:
		confirmed, closed, _ := d.form.press(msg)
		if !confirmed {
			return nil, closed
		}
		orders, why := d.orders()
		if why != "" {
			d.form.note = "refused, see above"
			return nil, false
		}
		return d.contest.begin(orders), true
	}
	return nil, false
}

// Actions are the form's keys.
func (d *contestForm) Actions() []action { return formActions(&d.form) }

// View draws the form, what will be made, and the buttons.
func (d *contestForm) View(width, height int) string {
	t := d.Theme()
	width = min(width-4, 74)
	lines := append([]line{{{"Let contenders fight for locks", t.Strong}}, nil}, formLines(d.Theme(), &d.form, width)...)
	orders, why := d.orders()
	text := "Makes a lock of its own on each, and a session for every worker; all of it is removed at the end. Until then it is a load on the servers."
	if why != "" {
		text = why
	}
	lines = append(lines, nil)
	for _, part := range wrap(text, width, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{part, t.Muted}})
	}
	return box(t, append(lines, nil, formButtons(d.Theme(), &d.form, len(orders) == 0)), width, height, false)
}
