package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// locksFoundMsg carries the result of a palette's search, with its generation.
type locksFoundMsg struct {
	generation int
	found      lockMatches
}

// choice is one entry of the palette.
type choice struct {
	name, key, about string
	// disabled returns the reason why it is disabled; nil or empty if it is not.
	disabled func() string
	well     int
	run      func() tea.Cmd
}

// why is the reason why it is disabled; empty if it is not.
func (c choice) why() string {
	if c.disabled == nil {
		return ""
	}
	return c.disabled()
}

// words say why it is disabled, or what it is.
func (c choice) words() string { return cmp.Or(c.why(), describe.Printable(c.about)) }

// palette goes to a screen or lock by name, or runs a key's action.
type palette struct {
	*world
	fixed   []choice // screens and actions
	seek    func(time.Time) tea.Cmd
	field   widget.Field
	choices []choice // those that match
	list    widget.Scroller
	// generation is the number of the last search among the locks, unique across palettes. all
	// counts its matches.
	generation int
	cancel     context.CancelFunc
	searching  bool
	all        int
}

// newPalette offers all screens with the current selection, the given actions and, with seek,
// times of day.
func newPalette(w *world, at screen.Subject, actions []screen.Action, seek func(time.Time) tea.Cmd) *palette {
	p := &palette{world: w, seek: seek}
	for _, e := range screenList() {
		p.fixed = append(p.fixed, choice{
			name: string(e.name), key: e.key, about: e.about,
			run: screen.Do(func() { w.Go(e.name, at) }),
		})
	}
	for _, a := range actions {
		name := nameOf(&a)
		if name == "" || slices.ContainsFunc(p.fixed, func(c choice) bool { return c.name == name }) {
			continue
		}
		p.fixed = append(p.fixed, choice{
			name: name, key: strings.Join(strings.Fields(a.Shown), " "), about: a.Help, disabled: a.Disabled,
			run: a.Run,
		})
	}
	p.choose(lockMatches{})
	return p
}

// nameOf is an action's name in the palette; empty for an action that only makes sense as a key.
func nameOf(a *screen.Action) string {
	switch {
	case a.Moves || a.Run == nil:
		return ""
	case a.Hint != "":
		return a.Hint
	default:
		return a.Help[:strings.IndexAny(a.Help+":", ":,;(")]
	}
}

// typed is the search text in lower case, like the names it is compared with.
func (p *palette) typed() string { return strings.ToLower(strings.TrimSpace(p.field.Value())) }

// search runs again after the text changed. It runs at once if there are few locks.
func (p *palette) search() tea.Cmd {
	p.generation = p.Number()
	p.list.At = 0
	p.stop()
	typed, snapshot := p.typed(), p.snapshot
	p.searching = typed != "" && snapshot.Len() > screen.AtOnce
	switch {
	case typed == "":
		p.choose(lockMatches{})
	case !p.searching:
		p.choose(findLocks(p.ctx, snapshot, typed))
	default:
		p.choose(lockMatches{})
		ctx, cancel := context.WithCancel(p.ctx)
		p.cancel = cancel
		generation := p.generation
		return p.Command(0, func(context.Context) tea.Msg {
			defer cancel()
			return locksFoundMsg{generation, findLocks(ctx, snapshot, typed)}
		})
	}
	return nil
}

// stop cancels the current search.
func (p *palette) stop() {
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
	}
}

// choose lists the matches: screens and actions, and the locks that were found.
func (p *palette) choose(f lockMatches) {
	p.choices, p.all = nil, f.all
	typed := p.typed()
	if at, ok := p.timeOfDay(typed); ok {
		p.choices = append(p.choices, choice{
			name: at.Format(time.TimeOnly), about: "go back to that time", run: func() tea.Cmd { return p.seek(at) },
		})
	}
	for _, c := range p.fixed {
		if c.well = matchText(strings.ToLower(c.name), typed); c.well == startsPart {
			c.well = inText // not the first word: a lock's name is more likely meant
		}
		if c.well >= scattered && len(typed) >= 3 && strings.Contains(strings.ToLower(c.about), typed) {
			c.well = inText
		}
		if typed != "" && c.key == ":"+typed {
			c.well = sameText
		}
		if c.well < noMatch {
			p.choices = append(p.choices, c)
		}
	}
	for _, m := range f.locks {
		p.choices = append(p.choices, choice{
			name: m.id.String(), about: p.lockWords(m.id), well: m.well,
			run: screen.Do(func() { p.Go(screen.Chain, screen.Subject{Lock: m.id}) }),
		})
	}
	if typed != "" {
		slices.SortStableFunc(p.choices, func(a, b choice) int { return a.well - b.well })
	}
	p.move(0)
}

// timeOfDay is the last occurrence of the typed time, such as 22:43 or 22:43:10, before now or the
// end of the recording.
func (p *palette) timeOfDay(typed string) (time.Time, bool) {
	clock, err := time.Parse(time.TimeOnly, typed)
	if err != nil {
		if clock, err = time.Parse("15:04", typed); err != nil {
			return time.Time{}, false
		}
	}
	newest := p.Clock()
	if p.options.Film != nil {
		newest = p.past.To()
	}
	newest = newest.Local()
	at := time.Date(newest.Year(), newest.Month(), newest.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0,
		time.Local)
	if at.After(newest) {
		at = at.AddDate(0, 0, -1)
	}
	return at, true
}

// lockWords describe a lock's state in a word or two.
func (p *palette) lockWords(id inspect.ID) string {
	l := p.snapshot.Lock(id)
	if l == nil {
		return ""
	}
	words := describe.StateWord(l.State)
	if f := describe.Worst(l.Findings); f != nil {
		words += " " + p.theme.Glyphs.Dot + " " + f.Rule
	}
	return words
}

// Update handles typing, completion, the cursor and the choice.
func (p *palette) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case locksFoundMsg:
		if msg.generation == p.generation {
			p.searching = false
			p.choose(msg.found)
		}
	case tea.PasteMsg:
		if p.field.Paste(msg) {
			return p.search(), false
		}
	case tea.KeyPressMsg:
		cmd, done := p.key(msg)
		if done {
			p.stop()
		}
		return cmd, done
	}
	return nil, false
}

func (p *palette) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		return nil, true
	case "up", "ctrl+p", "shift+tab":
		p.move(-1)
	case "down", "ctrl+n":
		p.move(1)
	case "tab":
		return p.complete(), false
	case "enter":
		return p.run()
	case "backspace":
		if p.field.Value() == "" {
			return nil, true
		}
		p.field.Press(msg)
		return p.search(), false
	default:
		if p.field.Press(msg) {
			return p.search(), false
		}
	}
	return nil, false
}

func (p *palette) move(by int) { p.list.Center(p.list.At+by, len(p.choices), paletteRows) }

// complete types the rest of the chosen match.
func (p *palette) complete() tea.Cmd {
	if p.list.At < 0 || p.list.At >= len(p.choices) {
		return nil
	}
	p.field.Set(p.choices[p.list.At].name)
	return p.search()
}

func (p *palette) run() (tea.Cmd, bool) {
	if p.list.At < 0 || p.list.At >= len(p.choices) {
		return nil, false
	}
	c := p.choices[p.list.At]
	if why := c.why(); why != "" { // it may have been disabled since the palette was opened
		p.Flash(why)
		return nil, false
	}
	return c.run(), true
}

func (p *palette) Actions() []screen.Action {
	return []screen.Action{
		{Shown: "enter", Hint: "go"},
		{Shown: "tab", Hint: "complete"},
		{Shown: "up/down", Hint: "choose"},
		{Shown: "esc", Hint: "close"},
	}
}

// paletteRows limits the visible matches.
const paletteRows = 12

func (p *palette) View(width, height int) string {
	t := p.theme
	width = min(width-4, max(92, width*3/5))
	rows := max(1, min(paletteRows, height-5))
	lines := []widget.Line{append(widget.Line{{":", t.Key}}, p.field.View(t, width-2)...), nil}
	list := p.list
	list.Center(p.list.At, len(p.choices), rows)
	top := list.Top
	names, words := 12, 0
	for _, c := range p.choices[top:min(top+rows, len(p.choices))] {
		names, words = max(names, ansi.StringWidth(c.name)), max(words, ansi.StringWidth(c.words()))
	}
	names = min(names, max(width*2/5, width-9-words))
	for i := range rows {
		if at := top + i; at < len(p.choices) {
			lines = append(lines, p.choiceLine(p.choices[at], at == p.list.At, names))
		} else if i == 0 {
			lines = append(lines, widget.Line{{"  " + p.nothing(), t.Muted}})
		} else {
			lines = append(lines, nil)
		}
	}
	return widget.Box(t,
		append(lines, widget.Line{{p.count(len(p.choices)-top-rows) + " ", t.Muted}}.Align(width, true, "")), width,
		height, false)
}

func (p *palette) nothing() string {
	if p.searching {
		return "searching" + p.theme.Glyphs.Ellipsis
	}
	return "no match for a screen, key, lock or time such as 22:43"
}

// count is the footer about hidden matches.
func (p *palette) count(below int) string {
	switch {
	case p.searching:
		return "searching the locks" + p.theme.Glyphs.Ellipsis
	case p.all > mostFound:
		return fmt.Sprintf("%d locks match; keep typing", p.all)
	case below > 0:
		return fmt.Sprintf("%s %d more", p.theme.Glyphs.Down, below)
	default:
		return ""
	}
}

func (p *palette) choiceLine(c choice, chosen bool, names int) widget.Line {
	t := p.theme
	l := widget.Line{{"  ", t.Text}, {text.Middle(c.name, names, t.Glyphs.Ellipsis), t.Text}}
	if chosen {
		l[0], l[1].Style = widget.Span{t.Glyphs.Cursor + " ", t.Holding}, t.Strong
	}
	return l.Align(names+2, false, "").Add(t.Key, fmt.Sprintf("  %-4s", c.key)).Add(t.Muted, " "+c.words())
}
