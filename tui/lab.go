package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/internal/text"
)

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
	Context
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

func newLab(host Context, locks Lab, sandbox Faults) screen {
	s := &lab{Context: host, hand: newHand(host, locks), contest: newContest(host, locks)}
	s.faults = newFaults(host, sandbox, s.hand.ours)
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
	s.pinFaults()
}

// pinFaults has the faults keep to whom they are about, for as long as the keys are theirs.
func (s *lab) pinFaults() {
	if s.pane == paneFaults {
		s.faults.pin()
	}
}

// choose gives the keys to a pane.
func (s *lab) choose(p labPane) {
	if s.pane != p {
		s.pane = p
		s.pinFaults()
	}
	s.rects = s.layout()
}

func (s *lab) Holding() int { return s.hand.holding() }

func (s *lab) Crumb() string { return string(labScreen) }

func (s *lab) SetSize(width, height int) {
	s.width, s.height = width, height
	s.rects = s.layout()
}

// panes are those that there are.
func (s *lab) panes() []labPane {
	if s.faults.sandbox == nil {
		return []labPane{paneHand, paneContest}
	}
	return []labPane{paneHand, paneContest, paneFaults}
}

// wide says that there is room for all panes.
func (s *lab) wide() bool { return s.width >= labWide && s.height >= labHigh }

// headLines are above the panes: their names where only one is shown, and the lock that one came with.
func (s *lab) headLines() []line {
	var lines []line
	if !s.wide() {
		lines = append(lines, s.tabs())
	}
	if s.wide() || s.pane != paneContest { // which has locks of its own
		lines = append(lines, s.aboutLine(s.width))
	}
	return lines
}

// layout puts all panes beside and below each other where there is room, else the chosen one alone.
func (s *lab) layout() (rects [3]rect) {
	head := len(s.headLines())
	room := s.height - head
	if !s.wide() {
		rects[s.pane] = rect{0, head, s.width, room}
		return rects
	}
	top := max(12, min(s.height*2/5, 18)-1)
	need := s.hand.need()
	half := s.width
	if s.faults.sandbox != nil {
		half = (s.width - 3) / 2
		need = max(need, s.faults.need())
	}
	if len(s.contest.bouts) == 0 { // it says but how to start a run
		top = max(top, min(need+1, room-1-len(s.contest.emptyLines(s.width))))
	}
	if s.faults.sandbox != nil {
		rects[paneFaults] = rect{half + 3, head, s.width - half - 3, top}
	}
	rects[paneHand] = rect{0, head, half, top}
	rects[paneContest] = rect{0, head + top, s.width, room - top}
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
		if s.InFront() == labScreen {
			s.pinFaults()
			s.faults.noteLabel()
			return s.faults.look()
		}
	case acquireAskedMsg:
		if s.InFront() == labScreen && !s.HasDialog() {
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
			s.choose(p)
			return
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

// turn goes to the next pane, or to the one before.
func (s *lab) turn(by int) {
	all := s.panes()
	s.choose(all[(slices.Index(all, s.pane)+by+len(all))%len(all)])
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
	list := []action{
		{keys: []string{"tab"}, shown: "tab shift+tab", hint: "pane", help: "the next pane, or the one before: by hand, contention, faults", run: do(func() { s.turn(1) })},
		{keys: []string{"shift+tab"}, run: do(func() { s.turn(-1) })},
	}
	list = append(list, s.paneActions()...)
	if s.pane != paneHand {
		acquire := s.acquireHere()
		acquire.hint = "" // the pane's own keys come first
		list = append(list, acquire)
	}
	list = append(list, action{keys: []string{"esc"}, shown: "esc", hint: "back", help: "back to where you came from; what you hold stays held", run: do(s.Back)})
	return append(list, moves(s.move, s.page)...)
}

// paneHead is how many lines are above a pane's list: its title.
const paneHead = 1

// View is exactly as high as the screen.
func (s *lab) View() string {
	s.rects = s.layout()
	var lines []string
	for _, l := range s.headLines() {
		lines = append(lines, l.render(s.width, s.Theme().Glyphs.Ellipsis, nil))
	}
	if !s.wide() {
		lines = append(lines, s.paneView(s.pane)...)
		return strings.Join(lines[:max(1, s.height)], "\n")
	}
	left := s.paneView(paneHand)
	if s.faults.sandbox != nil {
		wall := s.Theme().Faint.Render(" " + s.Theme().Glyphs.Wall + " ")
		for i, right := range s.paneView(paneFaults) {
			left[i] += wall + right
		}
	}
	return strings.Join(slices.Concat(lines, left, s.paneView(paneContest)), "\n")
}

// tabs names the panes.
func (s *lab) tabs() line {
	t := s.Theme()
	l := line{{" ", t.Text}}
	for _, p := range s.panes() {
		style := t.Muted
		if p == s.pane {
			style = t.Strong.Reverse(true)
		}
		l = l.add(style, " "+p.String()+" ").add(t.Text, " ")
	}
	right := line{{"tab changes the pane ", t.Muted}}
	return spread(l, right, s.width, "")
}

// paneView draws a pane, as high and wide as it is.
func (s *lab) paneView(p labPane) []string {
	t, r := s.Theme(), s.rects[p]
	var body []line
	switch p {
	case paneHand:
		body = s.hand.lines(r.width, r.height-paneHead, p == s.pane)
	case paneContest:
		body = s.contest.lines(r.width, r.height-paneHead)
	case paneFaults:
		body = s.faults.lines(r.width, r.height-paneHead, p == s.pane)
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

// paneTitle is a rule with the pane's name and, where the keys are its own, those that do something now.
func (s *lab) paneTitle(p labPane, width int) line {
	t := s.Theme()
	style := t.Muted
	mark := t.Glyphs.Rule
	if p == s.pane {
		style, mark = t.Title, t.Glyphs.Crumb
	}
	l := line{{mark + " ", style}, {p.String() + " ", style}}
	var keys line
	if p == s.pane {
		off := func(a action) bool { return a.why() != "" }
		keys = hintLine(t, slices.DeleteFunc(s.paneActions(), off), width-l.width()-2)
	}
	l = l.add(t.Faint, strings.Repeat(t.Glyphs.Rule, max(0, width-l.width()-keys.width())))
	return append(l, keys...)
}

// aboutLine says which lock one came with, and how it is.
func (s *lab) aboutLine(width int) line {
	t := s.Theme()
	if s.about.lock == (inspect.ID{}) {
		return line{{" no lock is selected", t.Muted}}
	}
	l := s.Snapshot().Lock(s.about.lock)
	mark, words := span{t.Glyphs.Unknown, t.Unknown}, "not there, as far as we know"
	if l != nil {
		mark, words = sign(t, l), verdict(s, l)
	}
	name := text.Middle(s.about.lock.String(), max(width/2, width-textWidth(words)-6), t.Glyphs.Ellipsis)
	return line{{" ", t.Text}, mark, {" " + name, t.Strong}, {"  " + words, t.Muted}}
}
