package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

func (s *lab) handActions() []action {
	// need is why an action that needs a hold cannot be done.
	need := func() string {
		switch k := s.hand.selected(); {
		case s.ReadOnly() != "":
			return s.ReadOnly()
		case k == nil:
			return "you hold nothing: a takes a lock"
		case k.state != takeHolds:
			return "it is not held"
		}
		return ""
	}
	hint, disabled := s.endHint()
	return []action{
		s.acquireHere(),
		{keys: []string{"r"}, shown: "r", hint: hint, help: "release the selected hold; stop waiting; take what is over off the list", writes: true, disabled: disabled, run: func() tea.Cmd { return s.hand.end(s.hand.selected()) }},
		{keys: []string{"+"}, shown: "+", hint: "extend", help: "prove the hold to the servers now, and extend it", writes: true, disabled: need, run: func() tea.Cmd { return s.hand.extend(s.hand.selected()) }},
		{keys: []string{"i"}, shown: "i", hint: "re-enter", help: "take the lock once more inside of the selected hold", writes: true, disabled: need, run: func() tea.Cmd { return s.hand.reenter(s.hand.selected()) }},
		{keys: []string{"enter"}, shown: "enter", hint: "chain", help: "open the selected lock's queue", disabled: s.noLock, run: do(func() { s.Go(chainScreen, s.Selected()) })},
	}
}

// acquireHere is the action of every pane that takes a lock.
func (s *lab) acquireHere() action {
	return action{keys: []string{"a"}, shown: "a", hint: "acquire", help: "acquire the selected lock, or another: opens a form", writes: true, disabled: s.ReadOnly, run: do(s.acquire)}
}

// endHint is what r does to the selected take, or why it does nothing.
func (s *lab) endHint() (hint string, disabled func() string) {
	k := s.hand.selected()
	switch {
	case k == nil:
		return "release", func() string {
			if why := s.ReadOnly(); why != "" {
				return why
			}
			return "you hold nothing: a takes a lock"
		}
	case k.state == takeAsked || k.state == takeWaits:
		return "stop waiting", nil
	case k.over():
		return "off the list", nil
	case k.state == takeReleasing:
		return "release", func() string { return "it is being released" }
	default:
		return "release", nil
	}
}

func (s *lab) noLock() string {
	if s.Selected().lock == (inspect.ID{}) {
		return "no lock is selected"
	}
	return ""
}

// acquire opens the form that takes a lock.
func (s *lab) acquire() {
	s.choose(paneHand)
	s.Push(newAcquireForm(s.Context, s.hand, s.about.lock))
}

// The rows of the form that takes a lock.
const (
	acquireLock = iota
	acquireKind
	acquireRecipe
	acquireTTL
	acquireWait
)

// ways and times are what can be chosen for how long to wait, and lives for the life of a key.
func waits() (names []string, times []time.Duration) {
	return []string{"try once", "10 s", "30 s", "2 min", "until I stop"}, []time.Duration{0, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 0}
}

func lives() (names []string, times []time.Duration) {
	return []string{"5 s", "10 s", "30 s", "2 min"}, []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute}
}

// acquireForm asks how a lock is to be taken.
type acquireForm struct {
	Context
	form
	hand     *hand
	backends []LabBackend
	seen     string // the lock that the choices were made for
	recipes  map[string][]string
	kind     string // that the recipes are of
}

func newAcquireForm(host Context, h *hand, id inspect.ID) *acquireForm {
	d := &acquireForm{Context: host, hand: h, backends: h.lab.Backends(), seen: "nothing yet"}
	waitNames, _ := waits()
	lifeNames, _ := lives()
	d.button = "Acquire"
	d.rows = []formRow{
		{label: "lock", typed: &field{}},
		{label: "kind"},
		{label: "queue with"},
		{label: "TTL", choices: lifeNames, at: 2},
		{label: "wait", choices: waitNames, at: 2},
	}
	if id != (inspect.ID{}) {
		d.rows[acquireLock].typed.set(id.String())
		d.at = acquireWait
	}
	d.suit()
	return d
}

// suit makes the choices fit the lock that was typed.
func (d *acquireForm) suit() {
	kind, queue, ttl := &d.rows[acquireKind], &d.rows[acquireRecipe], &d.rows[acquireTTL]
	text := d.rows[acquireLock].typed.value()
	if text == d.seen {
		if kind.choice() != d.kind {
			d.suitKind(queue.choice())
		}
		return
	}
	d.seen = text
	b, id, why := d.backend()
	kind.off, queue.off, ttl.off = why, why, why
	if why != "" {
		return
	}
	usual := usualTaking(b, id, d.Snapshot().Lock(id))
	kind.choices, d.recipes = b.Kinds, b.Recipes
	kind.choose(usual.Kind)
	d.suitKind(usual.Recipe)
	if b.ZooKeeper {
		ttl.off = "as long as our session lives"
	} else {
		queue.off = "Redis locks have no queue"
	}
}

// suitKind offers the recipes of the chosen kind, of them the wanted one or else the usual one.
func (d *acquireForm) suitKind(wanted string) {
	queue := &d.rows[acquireRecipe]
	d.kind = d.rows[acquireKind].choice()
	queue.choices, queue.at = d.recipes[d.kind], 0
	queue.choose(wanted)
}

// backend is the one that the typed lock is on, or why there is none.
func (d *acquireForm) backend() (b *LabBackend, id inspect.ID, why string) {
	id, err := inspect.ParseID(d.rows[acquireLock].typed.value())
	if err != nil {
		return nil, id, "after the lock: BACKEND:PATH"
	}
	var names []string
	for i := range d.backends {
		if d.backends[i].Name == id.Backend {
			return &d.backends[i], id, ""
		}
		names = append(names, describe.Printable(d.backends[i].Name))
	}
	return nil, id, "no such backend; there are: " + strings.Join(names, ", ")
}

// taking is what the form asks for, or why it cannot be done.
func (d *acquireForm) taking() (b *LabBackend, o Taking, why string) {
	b, id, why := d.backend()
	if why != "" {
		return nil, o, "Type a lock first, such as zk:/locks/orders."
	}
	l := d.Snapshot().Lock(id)
	o = usualTaking(b, id, l)
	o.Kind = d.rows[acquireKind].choice()
	if b.ZooKeeper {
		if o.Recipe = d.rows[acquireRecipe].choice(); l == nil || o.Recipe != l.Recipe {
			o.Prefix = ""
		}
	}
	_, times := lives()
	o.TTL = times[d.rows[acquireTTL].at]
	_, times = waits()
	o.Try, o.Wait = d.rows[acquireWait].at == 0, times[d.rows[acquireWait].at]
	return b, o, takingRefused(b, &o, l)
}

// Update takes keys. What is typed elsewhere than in the first row chooses.
func (d *acquireForm) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		d.form.paste()
	case tea.KeyPressMsg:
		confirmed, closed, changed := d.form.press(msg)
		if changed {
			d.suit()
		}
		if !confirmed {
			return nil, closed
		}
		_, o, why := d.taking()
		if why != "" {
			d.form.note = "refused, see above"
			return nil, false
		}
		return d.hand.begin(o), true
	}
	return nil, false
}

// Actions are the form's keys.
func (d *acquireForm) Actions() []action { return formActions(&d.form) }

// View draws the form, what will be made, and the buttons.
func (d *acquireForm) View(width, height int) string {
	t := d.Theme()
	width = min(width-4, 74)
	lines := append([]line{{{"Acquire a lock", t.Strong}}, nil}, formLines(d.Theme(), &d.form, width)...)
	lines = append(lines, nil)
	b, o, why := d.taking()
	if why != "" {
		for _, text := range wrap(describe.Sentence(why), width-2, 3, t.Glyphs.Ellipsis) {
			lines = append(lines, line{{t.Glyphs.Warning + " ", t.Warning}, {text, t.Text}})
		}
	} else {
		for i, text := range takingPreview(b, &o) {
			label := "        "
			if i == 0 {
				label = "Makes   "
			}
			for j, part := range wrap(text, width-8, 2, t.Glyphs.Ellipsis) {
				if j > 0 {
					label = "        "
				}
				lines = append(lines, line{{label, t.Muted}, {part, t.Text}})
			}
		}
	}
	lines = append(lines, nil, formButtons(d.Theme(), &d.form, why != ""))
	return box(t, lines, width, height, false)
}
