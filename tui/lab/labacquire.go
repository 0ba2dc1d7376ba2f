package lab

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

func (s *Screen) handActions() []screen.Action {
	// need is the reason that disables an action on a hold.
	need := func() string {
		switch k := s.Hand.selected(); {
		case s.ReadOnly() != "":
			return s.ReadOnly()
		case k == nil:
			return "you hold no lock; press a to acquire one"
		case k.state != takeHolds:
			return "it is not held"
		}
		return ""
	}
	hint, disabled := s.endHint()
	extend, reenter := "extend", "re-enter"
	if s.Hand.selected() == nil {
		hint, extend, reenter = "", "", ""
	}
	return []screen.Action{
		s.acquireHere(),
		{
			Keys: []string{"r"}, Shown: "r", Hint: hint,
			Help: "release your selected lock at once; stop waiting; clear what has finished", Writes: true, Disabled: disabled,
			Run: func() tea.Cmd { return s.Hand.end(s.Hand.selected()) },
		},
		{
			Keys: []string{"+"}, Shown: "+", Hint: extend, Help: "confirm the hold with the servers now, and extend it",
			Writes: true, Disabled: need, Run: func() tea.Cmd { return s.Hand.extend(s.Hand.selected()) },
		},
		{
			Keys: []string{"i"}, Shown: "i", Hint: reenter,
			Help: "acquire the lock again inside the selected hold", Writes: true, Disabled: need,
			Run: func() tea.Cmd { return s.Hand.reenter(s.Hand.selected()) },
		},
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: "chain",
			Help: "open the queue of your selected lock", Disabled: func() string {
				if s.Hand.selected() == nil {
					return noneSelected
				}
				return ""
			},
			Run: screen.Do(func() { s.Go(screen.Chain, s.Selected()) }),
		},
	}
}

// noneSelected is why enter stays in the Lab: it only opens a lock selected here.
const noneSelected = "none of your locks is selected"

// acquireHere is the action that takes a lock, in every pane.
func (s *Screen) acquireHere() screen.Action {
	return screen.Action{
		Keys: []string{"a"}, Shown: "a", Hint: "acquire", Help: "acquire a lock", Writes: true,
		Disabled: s.CannotAcquire, Run: screen.Do(s.acquire),
	}
}

// endHint is the hint for r, whose effect depends on the selected take's state, and the reason that disables it.
func (s *Screen) endHint() (hint string, disabled func() string) {
	k := s.Hand.selected()
	switch {
	case k == nil:
		return "release", func() string {
			if why := s.ReadOnly(); why != "" {
				return why
			}
			return "you hold no lock; press a to acquire one"
		}
	case k.state == takeAsked || k.state == takeWaits:
		return "stop waiting", nil
	case k.over():
		return "clear", nil
	case k.state == takeReleasing:
		return "release", func() string { return "it is being released" }
	default:
		return "release", nil
	}
}

// acquire opens the form that takes a lock.
func (s *Screen) acquire() {
	s.Choose(PaneHand)
	s.Push(NewAcquireForm(s.Context, s.Hand, s.about.Lock))
}

// The rows of the form that takes a lock.
const (
	acquireLock = iota
	AcquireKind
	AcquireRecipe
	acquireTTL
	acquireWait
)

// waits are the choices of a time limit for Acquire. 0 means one try, or no limit.
func waits() (names []string, times []time.Duration) {
	return []string{"try once", "10 s", "30 s", "2 min", "no limit"}, []time.Duration{
		0, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 0,
	}
}

// lives are the choices of a TTL.
func lives() (names []string, times []time.Duration) {
	return []string{"5 s", "10 s", "30 s", "2 min"}, []time.Duration{
		5 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute,
	}
}

// acquireForm asks how to take a lock.
type acquireForm struct {
	screen.Context
	widget.Form
	hand     *hand
	near     string // the backend of a path without one
	proposed string // the beginning of the lock's name
	Backends []Backend
	Seen     string // the lock that the choices were made for
	recipes  map[string][]string
	kind     string // the kind of lock of these recipes
	pending  *Order // to carry out once writing is allowed; nil if none
}

// NewAcquireForm proposes the selected lock if it is free, else its directory. To join the queue of others, the user
// has to type the lock's name.
func NewAcquireForm(host screen.Context, h *hand, id inspect.ID) *acquireForm {
	d := &acquireForm{Context: host, hand: h, near: id.Backend, Backends: h.lab.Backends(), Seen: "nothing yet"}
	waitNames, _ := waits()
	lifeNames, _ := lives()
	d.Button = "Acquire"
	if host.ReadOnly() != "" {
		d.Button = "Allow writing and acquire"
	}
	d.Check = func() string {
		_, _, why := d.taking()
		return seeAbove(why)
	}
	d.Rows = []widget.FormRow{
		{Label: "lock", Typed: &widget.Field{}},
		{Label: "kind"},
		{Label: "queue with"},
		{Label: "TTL", Choices: lifeNames, At: 2},
		{Label: "wait", Choices: waitNames, At: 2},
	}
	if text := id.String(); id != (inspect.ID{}) {
		d.Rows[acquireLock].Typed.Set(text)
		d.Rows[acquireLock].Typed.SelectAll()
		d.Suit()
		if l := host.Snapshot().Lock(id); l == nil || l.Contention() > 0 || h.has(id) {
			d.proposed = text[:strings.LastIndexAny(text, ":/")+1]
			d.Rows[acquireLock].Typed.Set(d.proposed)
		}
	}
	d.Suit()
	return d
}

// seeAbove points to the reason for a refusal, if there is one.
func seeAbove(why string) string {
	if why == "" {
		return ""
	}
	return "refused, see above"
}

// Suit adapts the choices to the typed lock. A whole name after the proposed beginning replaces it.
func (d *acquireForm) Suit() {
	kind, queue, ttl := &d.Rows[AcquireKind], &d.Rows[AcquireRecipe], &d.Rows[acquireTTL]
	name, proposed := strings.CutPrefix(d.Rows[acquireLock].Typed.Value(), d.proposed)
	whole := func(b Backend) bool { return b.ZooKeeper && strings.HasPrefix(name, b.Name+":/") }
	if proposed && d.proposed != "" && (strings.HasPrefix(name, d.proposed) || slices.ContainsFunc(d.Backends, whole)) {
		d.Rows[acquireLock].Typed.Set(name)
	}
	text := d.Rows[acquireLock].Typed.Value()
	if text == d.Seen {
		if kind.Choice() != d.kind {
			d.suitKind(queue.Choice())
		}
		return
	}
	d.Seen = text
	b, id, why := d.backend()
	kind.Off, queue.Off, ttl.Off = "", "", ""
	if why != "" { // shown below
		kind.Off, queue.Off, ttl.Off = "-", "-", "-"
		return
	}
	l := d.Snapshot().Lock(id)
	usual := usualTaking(b, id, l)
	d.recipes = b.Recipes
	kind.Offer(b.Kinds, usual.Kind)
	if l == nil { // a new lock: keep the recipe
		usual.Recipe = cmp.Or(queue.Choice(), usual.Recipe)
	}
	d.suitKind(usual.Recipe)
	if b.ZooKeeper {
		ttl.Off = "until our session ends"
	} else {
		queue.Off = "Redis locks have no queue"
	}
}

// suitKind offers the recipes of the chosen kind. It selects the wanted recipe, or else the usual
// one.
func (d *acquireForm) suitKind(wanted string) {
	d.kind = d.Rows[AcquireKind].Choice()
	d.Rows[AcquireRecipe].Offer(d.recipes[d.kind], wanted)
}

// backend is the backend of the typed lock. A bare path is on the selected lock's ensemble. why is
// the reason if there is no backend.
func (d *acquireForm) backend() (b *Backend, id inspect.ID, why string) {
	typed := d.Rows[acquireLock].Typed.Value()
	near := func(b Backend) bool { return b.ZooKeeper && b.Name == d.near }
	if strings.HasPrefix(typed, "/") && slices.ContainsFunc(d.Backends, near) {
		typed = d.near + ":" + typed
	}
	id, err := inspect.ParseID(typed)
	switch {
	case typed == "" || strings.HasSuffix(typed, "/") || strings.HasSuffix(typed, ":"):
		return nil, id, "type the lock's name, such as zk:/locks/orders"
	case err != nil:
		return nil, id, "write the backend before the path, such as zk:/locks/orders"
	}
	var names []string
	for i := range d.Backends {
		if d.Backends[i].Name == id.Backend {
			return &d.Backends[i], id, ""
		}
		names = append(names, describe.Printable(d.Backends[i].Name))
	}
	return nil, id, "no such backend; choose from: " + strings.Join(names, ", ")
}

// taking is the form's order, or the reason why it cannot be carried out.
func (d *acquireForm) taking() (b *Backend, o Order, why string) {
	b, id, why := d.backend()
	if why != "" {
		return nil, o, why
	}
	l := d.Snapshot().Lock(id)
	o = usualTaking(b, id, l)
	o.Kind = d.Rows[AcquireKind].Choice()
	if b.ZooKeeper {
		if o.Recipe = d.Rows[AcquireRecipe].Choice(); l == nil || o.Recipe != l.Recipe {
			o.Prefix = ""
		}
	}
	_, times := lives()
	o.TTL = times[d.Rows[acquireTTL].At]
	_, times = waits()
	o.Try, o.Wait = d.Rows[acquireWait].At == 0, times[d.Rows[acquireWait].At]
	return b, o, takingRefused(b, &o, l)
}

// Update handles keys.
func (d *acquireForm) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case screen.ArmedMsg:
		if d.pending != nil {
			return d.hand.begin(*d.pending), true
		}
	case tea.PasteMsg:
		d.Form.Paste()
	case tea.KeyPressMsg:
		confirmed, closed, changed := d.Form.Press(msg)
		if changed {
			d.pending = nil
			d.Suit()
		}
		if !confirmed {
			return nil, closed
		}
		_, o, _ := d.taking()
		if arm := d.Arm(); arm != nil {
			d.pending = &o
			return arm, false
		}
		return d.hand.begin(o), true
	}
	return nil, false
}

// Actions are the form's keys.
func (d *acquireForm) Actions() []screen.Action { return screen.FormActions(&d.Form) }

// View draws the form, a preview and the buttons.
func (d *acquireForm) View(width, height int) string {
	t := d.Theme()
	width = min(width-4, 74)
	lines := append([]widget.Line{{{"Acquire a lock", t.Strong}}, nil}, widget.FormLines(d.Theme(), &d.Form, width)...)
	lines = append(lines, nil)
	warn := func(text string) {
		mark := t.Glyphs.Warning + " "
		for _, part := range widget.Wrap(text, width-2, 3, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{mark, t.Warning}, {part, t.Text}})
			mark = "  "
		}
	}
	b, o, why := d.taking()
	if why != "" {
		warn(describe.Sentence(why))
	} else {
		for _, text := range takingPreview(b, &o) {
			for _, part := range widget.Wrap(text, width, 2, t.Glyphs.Ellipsis) {
				lines = append(lines, widget.Line{{part, t.Text}})
			}
		}
		if l := d.Snapshot().Lock(o.Lock); l != nil && l.Contention() > 0 {
			warn("In use: " + screen.Verdict(d, l))
		}
	}
	lines = append(lines, nil, widget.FormButtons(d.Theme(), &d.Form, why != ""))
	return widget.Box(t, lines, width, height, false)
}
