package lab

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// LabPane is a part of the lab.
type LabPane uint8

const (
	PaneHand LabPane = iota
	PaneRuns
	PaneFaults
)

func (p LabPane) String() string { return [...]string{"your locks", "contention", "faults"}[p] }

// Screen has panes to take locks by hand, to run contention, and to inject faults into the
// sandbox's servers and clients.
type Screen struct {
	screen.Context
	about         screen.Subject // the lock and contender that the screen was opened for
	width, height int
	Pane          LabPane
	Hand          *hand
	Runs          *runs
	Faults        *faults
	rects         [3]rect
}

// rect is a pane's place on the screen, in cells. A width of 0 means hidden.
type rect struct{ x, y, width, height int }

func (r rect) has(x, y int) bool {
	return x >= r.x && x < r.x+r.width && y >= r.y && y < r.y+r.height
}

// The smallest size at which all panes are shown at once.
const (
	LabWide = 120
	labHigh = 28
)

func New(host screen.Context, locks Driver, sandbox Faults) screen.Screen {
	s := &Screen{Context: host, Hand: newHand(host, locks), Runs: newRuns(host, locks)}
	s.Faults = newFaults(host, sandbox, s.Hand.ours)
	return s
}

func (s *Screen) Open(p screen.Place, _ screen.SnapshotMsg) tea.Cmd {
	if p.Lock != (inspect.ID{}) && (p.Lock != s.about.Lock || p.Owner != (inspect.Identity{})) {
		s.about, s.Hand.last = p.Subject, inspect.ID{}
		s.Faults.show(p.Subject)
		if at := slices.IndexFunc(s.Hand.Takes, func(k *Take) bool { return k.Order.Lock == p.Lock }); at >= 0 {
			s.Hand.list.At = at
			s.Choose(PaneHand)
		}
	}
	return s.changed()
}

// changed updates the faults after their targets may have changed.
func (s *Screen) changed() tea.Cmd {
	s.pinFaults()
	s.Faults.recordLabel()
	return s.Faults.look()
}

// pinFaults keeps the faults on their targets while their pane has the focus.
func (s *Screen) pinFaults() {
	if s.Pane == PaneFaults {
		s.Faults.pin()
	}
}

// Choose focuses a pane.
func (s *Screen) Choose(p LabPane) {
	if s.Pane != p {
		s.Pane = p
		s.pinFaults()
	}
	s.rects = s.layout()
}

func (s *Screen) Holding() (held, waiting int) { return s.Hand.holding() }

func (s *Screen) Title() string { return string(screen.Lab) }

func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.rects = s.layout()
	if r := s.rects[PaneHand]; r.width > 0 {
		s.Hand.setSize(r.width, r.height-paneHead)
	}
	if r := s.rects[PaneFaults]; r.width > 0 {
		s.Faults.setSize(r.width, r.height-paneHead)
	}
}

// Panes are the visible ones.
func (s *Screen) Panes() []LabPane {
	if s.Faults.sandbox == nil {
		return []LabPane{PaneHand, PaneRuns}
	}
	return []LabPane{PaneHand, PaneRuns, PaneFaults}
}

// wide reports whether there is room for all panes.
func (s *Screen) wide() bool { return s.width >= LabWide && s.height >= labHigh }

// headLines are above the panes. They show the panes' names if only one is shown, and the lock that
// the screen was opened for.
func (s *Screen) headLines() []widget.Line {
	var lines []widget.Line
	if !s.wide() {
		lines = append(lines, s.tabs())
	}
	if s.wide() || s.Pane != PaneRuns { // runs have their own locks
		lines = append(lines, s.aboutLine(s.width).Cut(s.width-1, s.Theme().Glyphs.Ellipsis))
	}
	return lines
}

// layout puts all panes next to and below each other if there is room, or else shows only the
// chosen one.
func (s *Screen) layout() (rects [3]rect) {
	head := len(s.headLines())
	room := s.height - head
	if !s.wide() {
		rects[s.Pane] = rect{0, head, s.width, room}
		return rects
	}
	top := max(12, min(s.height*2/5, 18)-1)
	half := s.width
	if s.Faults.sandbox != nil {
		half = (s.width - 3) / 2
	}
	need := s.Hand.need(half)
	if s.Faults.sandbox != nil {
		need = max(need, s.Faults.need())
	}
	if len(s.Runs.List) == 0 { // the pane only says how to start a run
		top = max(top, min(need+1, room-1-len(s.Runs.emptyLines(s.width))))
	} else { // lanes get the lines that the other panes do not need
		top = min(top, need)
	}
	if s.Faults.sandbox != nil {
		rects[PaneFaults] = rect{half + 3, head, s.width - half - 3, top}
	}
	rects[PaneHand] = rect{0, head, half, top}
	rects[PaneRuns] = rect{0, head + top, s.width, room - top}
	return rects
}

// Selected is the lock of the selected or last take while its pane has the focus. Otherwise it is
// the lock that the screen was opened for.
func (s *Screen) Selected() screen.Subject {
	lock := s.Hand.last
	if k := s.Hand.selected(); k != nil {
		lock = k.Order.Lock
	}
	if s.Pane == PaneHand && lock != (inspect.ID{}) {
		return screen.Subject{Lock: lock}
	}
	return s.about
}

func (s *Screen) Focus() []inspect.ID {
	var ids []inspect.ID
	if s.about.Lock != (inspect.ID{}) {
		ids = append(ids, s.about.Lock)
	}
	for _, k := range s.Hand.Takes {
		if !slices.Contains(ids, k.Order.Lock) {
			ids = append(ids, k.Order.Lock)
		}
	}
	return ids
}

// NeedsFastTick is false: a contention run has its own beat.
func (s *Screen) NeedsFastTick() bool { return false }

// AcquireMsg asks for the form that takes a lock.
type AcquireMsg struct{}

// ReleaseMsg releases the user's own hold, an entry of a lock.
type ReleaseMsg struct {
	Lock inspect.ID
	Name inspect.Untrusted
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		return s.changed()
	case AcquireMsg:
		if s.InFront() == screen.Lab && !s.HasDialog() {
			s.acquire()
		}
	case ReleaseMsg:
		at := slices.IndexFunc(s.Hand.Takes, func(k *Take) bool {
			return k.Order.Lock == msg.Lock && k.name == msg.Name.Raw() && k.state == takeHolds
		})
		if at < 0 {
			s.Flash("you do not hold " + msg.Lock.String() + " any more")
			return nil
		}
		s.Hand.list.At = at
		s.Choose(PaneHand)
		return s.Hand.end(s.Hand.Takes[at])
	case runStartedMsg, RunTickMsg:
		return s.Runs.Update(msg)
	case faultDoneMsg, faultsSeenMsg:
		return s.Faults.Update(msg)
	case tea.MouseWheelMsg:
		s.pick(msg.X, msg.Y)
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	default:
		return s.Hand.Update(msg)
	}
	return nil
}

// pick goes to the pane at a position.
func (s *Screen) pick(x, y int) {
	for _, p := range s.Panes() {
		if s.rects[p].has(x, y) {
			s.Choose(p)
			return
		}
	}
}

func (s *Screen) click(msg tea.MouseClickMsg) {
	s.pick(msg.X, msg.Y)
	row := msg.Y - s.rects[s.Pane].y - paneHead
	switch {
	case row < 0:
	case s.Pane == PaneHand && s.Hand.list.Top+row < len(s.Hand.Takes):
		s.Hand.list.At = s.Hand.list.Top + row
	case s.Pane == PaneFaults:
		s.Faults.click(row)
	}
}

func (s *Screen) move(by int) {
	switch s.Pane {
	case PaneHand:
		s.Hand.list.At = max(0, min(s.Hand.list.At+by, len(s.Hand.Takes)-1))
	case PaneFaults:
		s.Faults.move(by)
	}
}

// turn goes to the next or the previous pane.
func (s *Screen) turn(by int) {
	all := s.Panes()
	s.Choose(all[(slices.Index(all, s.Pane)+by+len(all))%len(all)])
}

func (s *Screen) page() int { return max(1, s.rects[s.Pane].height/2) }

// paneActions are the keys of the focused pane.
func (s *Screen) paneActions() []screen.Action {
	switch s.Pane {
	case PaneRuns:
		return s.Runs.actions()
	case PaneFaults:
		return s.Faults.actions()
	default:
		return s.handActions()
	}
}

func (s *Screen) Actions() []screen.Action {
	list := []screen.Action{
		{
			Keys: []string{"tab"}, Shown: "tab shift+tab", Hint: "pane",
			Help: "next or previous pane", Run: screen.Do(func() { s.turn(1) }),
		},
		{Keys: []string{"shift+tab"}, Run: screen.Do(func() { s.turn(-1) })},
	}
	list = append(append(list, s.paneActions()...), screen.Action{
		Keys: []string{"enter", "l", "right"}, Disabled: func() string { return noneSelected },
	})
	if s.Pane != PaneHand {
		acquire := s.acquireHere()
		acquire.Hint = "" // the pane's own keys come first
		list = append(list, acquire)
	}
	if s.Pane != PaneRuns {
		run := s.Runs.actions()[0]
		form := run.Run
		run.Hint, run.Run = "", func() tea.Cmd {
			s.Choose(PaneRuns)
			return form()
		}
		list = append(list, run)
	}
	list = append(list, screen.Action{
		Keys: []string{"esc", "h", "left"}, Shown: "esc h", Hint: "back",
		Help: "back to where you came from; your locks stay held", Run: screen.Do(s.Back),
	})
	return append(list, screen.Moves(s.move, s.page)...)
}

// paneHead is the height of a pane's title.
const paneHead = 1

// View is exactly as high as the screen.
func (s *Screen) View() string {
	var lines []string
	for _, l := range s.headLines() {
		lines = append(lines, l.Render(s.width, s.Theme().Glyphs.Ellipsis, nil))
	}
	if !s.wide() {
		lines = append(lines, s.paneView(s.Pane)...)
		return strings.Join(lines[:max(1, s.height)], "\n")
	}
	left := s.paneView(PaneHand)
	if s.Faults.sandbox != nil {
		wall := s.Theme().Faint.Render(" " + s.Theme().Glyphs.Wall + " ")
		for i, right := range s.paneView(PaneFaults) {
			left[i] += wall + right
		}
	}
	return strings.Join(slices.Concat(lines, left, s.paneView(PaneRuns)), "\n")
}

// tabs names the panes.
func (s *Screen) tabs() widget.Line {
	t := s.Theme()
	l := widget.Line{{" ", t.Text}}
	for _, p := range s.Panes() {
		style := t.Muted
		if p == s.Pane {
			style = t.Strong.Reverse()
		}
		l = l.Add(style, " "+p.String()+" ").Add(t.Text, " ")
	}
	right := widget.Line{{"tab: next pane ", t.Muted}}
	return widget.Spread(l, right, s.width, "")
}

// paneView draws a pane in its full size.
func (s *Screen) paneView(p LabPane) []string {
	t, r := s.Theme(), s.rects[p]
	var body []widget.Line
	switch p {
	case PaneHand:
		body = s.Hand.lines(r.width, r.height-paneHead, p == s.Pane)
	case PaneRuns:
		body = s.Runs.lines(r.width, r.height-paneHead)
	case PaneFaults:
		body = s.Faults.lines(r.width, r.height-paneHead, p == s.Pane)
	}
	lines := append([]widget.Line{s.PaneTitle(p, r.width)}, body...)
	out := make([]string, r.height)
	for i := range out {
		var l widget.Line
		if i < len(lines) {
			l = lines[i]
		}
		out[i] = l.Render(r.width, t.Glyphs.Ellipsis, nil)
	}
	return out
}

// PaneTitle is a rule with the pane's name and, if it has the focus, its enabled keys.
func (s *Screen) PaneTitle(p LabPane, width int) widget.Line {
	t := s.Theme()
	style := t.Muted
	mark := t.Glyphs.Rule
	if p == s.Pane {
		style, mark = t.Title, t.Glyphs.Breadcrumb
	}
	l := widget.Line{{mark + " ", style}, {p.String() + " ", style}}
	var keys widget.Line
	if p == s.Pane {
		off := func(a screen.Action) bool { return a.Why() != "" }
		keys = screen.HintLine(t, slices.DeleteFunc(s.paneActions(), off), width-l.Width()-2)
	}
	l = l.Add(t.Faint, strings.Repeat(t.Glyphs.Rule, max(0, width-l.Width()-keys.Width())))
	return append(l, keys...)
}

// aboutLine is the lock that the keys act on, with its state.
func (s *Screen) aboutLine(width int) widget.Line {
	t, id := s.Theme(), s.Selected().Lock
	if id == (inspect.ID{}) {
		return widget.Line{{" no lock is selected", t.Muted}}
	}
	l := s.Snapshot().Lock(id)
	mark, words := widget.Span{t.Glyphs.Unknown, t.Unknown}, "unknown: not read yet"
	switch b := s.Snapshot().Backend(id.Backend); {
	case l != nil:
		mark, words = screen.Sign(t, l), screen.Verdict(s, l)
	case b != nil && b.FirstPass && b.State == inspect.Connected:
		mark, words = widget.Span{t.Glyphs.Free, t.Free}, "gone, without a holder: its servers do not list it"
	}
	if long := widget.TextWidth(words); long+widget.TextWidth(id.String())+5 > width {
		words = text.WithoutDomain(words, describe.SharedDomain(s.Snapshot()))
	}
	name := text.Middle(id.String(), max(width/2, width-widget.TextWidth(words)-6), t.Glyphs.Ellipsis)
	return widget.Line{{" ", t.Text}, mark, {" " + name, t.Strong}, {"  " + words, t.Muted}}
}
