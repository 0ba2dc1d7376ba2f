package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

const labScreen screenName = "lab"

// labPane is a part of the lab.
type labPane uint8

const (
	paneHand labPane = iota
	paneContest
	paneFaults
)

func (p labPane) String() string { return [...]string{"by hand", "contention", "faults"}[p] }

// lab is where locks are taken by hand, where contenders fight for locks, and where the sandbox's servers and clients
// get faults.
type lab struct {
	*world
	about         subject // the lock, and the contender, that one came with
	width, height int
	pane          labPane
	hand          *hand
	contest       *contest
	faults        *faults
	rects         [3]rect
}

// rect is where a pane is on the screen; width 0: it is not shown.
type rect struct{ x, y, width, height int }

func (r rect) has(x, y int) bool {
	return x >= r.x && x < r.x+r.width && y >= r.y && y < r.y+r.height
}

// The least size at which all panes are shown at once.
const (
	labWide = 120
	labHigh = 28
)

func newLab(w *world) screen {
	s := &lab{world: w, hand: newHand(w), contest: newContest(w)}
	s.faults = newFaults(w, s.hand.ours)
	w.holding = s.hand.holding
	return s
}

func (s *lab) Open(p place) {
	if p.lock == (inspect.ID{}) {
		return
	}
	if p.lock != s.about.lock || p.owner != (inspect.Identity{}) {
		s.about = p.subject
		s.faults.show(p.subject)
	}
}

func (s *lab) Crumb() string { return string(labScreen) }

func (s *lab) SetSize(width, height int) {
	s.width, s.height = width, height
	s.rects = s.layout()
}

// panes are those that there are.
func (s *lab) panes() []labPane {
	if s.options.Faults == nil {
		return []labPane{paneHand, paneContest}
	}
	return []labPane{paneHand, paneContest, paneFaults}
}

// layout puts all panes beside and below each other where there is room, else the chosen one below a line of tabs.
func (s *lab) layout() (rects [3]rect) {
	if s.width < labWide || s.height < labHigh {
		rects[s.pane] = rect{0, 1, s.width, s.height - 1}
		return rects
	}
	top := max(13, min(s.height*2/5, 18))
	half := s.width
	if s.options.Faults != nil {
		half = (s.width - 3) / 2
		rects[paneFaults] = rect{half + 3, 0, s.width - half - 3, top}
	}
	rects[paneHand] = rect{0, 0, half, top}
	rects[paneContest] = rect{0, top, s.width, s.height - top}
	return rects
}

// Selected is the lock of the selected take in the pane of those, else what one came with.
func (s *lab) Selected() subject {
	if k := s.hand.selected(); k != nil && s.pane == paneHand {
		return subject{lock: k.order.Lock}
	}
	return s.about
}

func (s *lab) Focus() []inspect.ID {
	var ids []inspect.ID
	if s.about.lock != (inspect.ID{}) {
		ids = append(ids, s.about.lock)
	}
	for _, k := range s.hand.takes {
		if !slices.Contains(ids, k.order.Lock) {
			ids = append(ids, k.order.Lock)
		}
	}
	return ids
}

// Lively is never so: the time that a contention run draws comes with its own beat.
func (s *lab) Lively() bool { return false }

// acquireAskedMsg asks for the form that takes a lock.
type acquireAskedMsg struct{}

func (s *lab) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		if s.inFront == labScreen {
			return s.faults.look()
		}
	case acquireAskedMsg:
		if s.inFront == labScreen && s.modal == nil {
			s.pane = paneHand
			s.acquire()
		}
	case contestStartedMsg, contestBeatMsg:
		return s.contest.Update(msg)
	case faultDoneMsg, faultsSeenMsg:
		return s.faults.Update(msg)
	case tea.MouseWheelMsg:
		s.pick(msg.X, msg.Y)
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	default:
		return s.hand.Update(msg)
	}
	return nil
}

// pick goes to the pane at some place.
func (s *lab) pick(x, y int) {
	for _, p := range s.panes() {
		if s.rects[p].has(x, y) {
			s.pane = p
		}
	}
}

func (s *lab) click(msg tea.MouseClickMsg) {
	s.pick(msg.X, msg.Y)
	row := msg.Y - s.rects[s.pane].y - paneHead
	switch {
	case row < 0:
	case s.pane == paneHand && s.hand.top+row < len(s.hand.takes):
		s.hand.cursor = s.hand.top + row
	case s.pane == paneFaults:
		s.faults.click(row)
	}
}

func (s *lab) move(by int) {
	switch s.pane {
	case paneHand:
		s.hand.cursor = max(0, min(s.hand.cursor+by, len(s.hand.takes)-1))
	case paneFaults:
		s.faults.move(by)
	}
}

func (s *lab) turn() {
	all := s.panes()
	s.pane = all[(slices.Index(all, s.pane)+1)%len(all)]
	s.rects = s.layout()
}

func (s *lab) page() int { return max(1, s.rects[s.pane].height/2) }

// paneActions are the keys of the chosen pane.
func (s *lab) paneActions() []action {
	switch s.pane {
	case paneContest:
		return s.contest.actions()
	case paneFaults:
		return s.faults.actions()
	default:
		return s.handActions()
	}
}

func (s *lab) Actions() []action {
	list := []action{{keys: []string{"tab"}, shown: "tab", hint: "pane", help: "next pane: by hand, contention, faults", run: do(s.turn)}}
	list = append(list, s.paneActions()...)
	list = append(list, action{keys: []string{"esc"}, shown: "esc", hint: "back", help: "back to where you came from; what you hold stays held", run: do(s.back)})
	return append(list, moves(s.move, s.page)...)
}

// paneHead is how many lines are above a pane's list: its title, and what it is about.
const paneHead = 2

// View is exactly as high as the screen.
func (s *lab) View() string {
	s.rects = s.layout()
	if s.width < labWide || s.height < labHigh {
		lines := append([]string{s.tabs()}, s.paneView(s.pane)...)
		return strings.Join(lines[:max(1, s.height)], "\n")
	}
	left := s.paneView(paneHand)
	if s.options.Faults != nil {
		wall := s.theme.Faint.Render(" " + s.theme.Glyphs.Wall + " ")
		for i, right := range s.paneView(paneFaults) {
			left[i] += wall + right
		}
	}
	return strings.Join(append(left, s.paneView(paneContest)...), "\n")
}

// tabs names the panes.
func (s *lab) tabs() string {
	t := s.theme
	l := line{{" ", t.Text}}
	for _, p := range s.panes() {
		style := t.Muted
		if p == s.pane {
			style = t.Strong.Reverse(true)
		}
		l = l.add(style, " "+p.String()+" ").add(t.Text, " ")
	}
	right := line{{"tab changes the pane ", t.Muted}}
	return spread(l, right, s.width, "").render(s.width, t.Glyphs.Ellipsis, nil)
}

// paneView draws a pane, as high and wide as it is.
func (s *lab) paneView(p labPane) []string {
	t, r := s.theme, s.rects[p]
	var body []line
	switch p {
	case paneHand:
		body = append([]line{s.aboutLine(r.width)}, s.hand.lines(r.width, r.height-paneHead, p == s.pane)...)
	case paneContest:
		body = s.contest.lines(r.width, r.height-1)
	case paneFaults:
		body = append([]line{s.aboutLine(r.width)}, s.faults.lines(r.width, r.height-paneHead, p == s.pane)...)
	}
	lines := append([]line{s.paneTitle(p, r.width)}, body...)
	out := make([]string, r.height)
	for i := range out {
		var l line
		if i < len(lines) {
			l = lines[i]
		}
		out[i] = l.render(r.width, t.Glyphs.Ellipsis, nil)
	}
	return out
}

// paneTitle is a rule with the pane's name.
func (s *lab) paneTitle(p labPane, width int) line {
	t := s.theme
	style := t.Muted
	mark := t.Glyphs.Rule
	if p == s.pane {
		style, mark = t.Title, t.Glyphs.Crumb
	}
	l := line{{mark + " ", style}, {p.String() + " ", style}}
	var keys line
	if p == s.pane {
		keys = hintLine(t, s.paneActions(), width-l.width()-2)
	}
	l = l.add(t.Faint, strings.Repeat(t.Glyphs.Rule, max(0, width-l.width()-keys.width())))
	return append(l, keys...)
}

// aboutLine says which lock one came with, and how it is.
func (s *lab) aboutLine(width int) line {
	t := s.theme
	if s.about.lock == (inspect.ID{}) {
		return line{{" no lock is selected", t.Muted}}
	}
	l := s.snapshot.Lock(s.about.lock)
	name := middle(s.about.lock.String(), max(12, width/2), t.Glyphs.Ellipsis)
	if l == nil {
		return line{{" " + t.Glyphs.Unknown + " ", t.Unknown}, {name, t.Strong}, {"  not there, as far as we know", t.Muted}}
	}
	mark := sign(t, l)
	return line{{" ", t.Text}, mark, {" " + name, t.Strong}, {"  " + s.verdict(l), t.Muted}}
}
