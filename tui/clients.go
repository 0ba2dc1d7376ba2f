package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// clients lists sessions and processes with all that each holds and waits for, and draws who waits for whom.
type clients struct {
	Context
	width, height int
	list          *clientList // nil until the first was made
	shown         []*clientRow
	input         filterInput
	table         scroller
	selected      inspect.Identity
	// moved: somebody chose; until then the first row stays selected.
	moved bool

	// inEntries: the keys move in what the selected client holds and waits for.
	inEntries bool
	entries   scroller
	entry     entryKey

	graphing bool
	graph    scroller
	node     string // the selected row of the graph

	// making: a list is being made, or its maker rests; stale: there is a newer snapshot than that of the list.
	making, stale bool
}

// entryKey tells a client's entries apart from one list to the next.
type entryKey struct {
	lock inspect.ID
	name inspect.Untrusted
}

func entryKeyOf(e inspect.Entry) entryKey { return entryKey{e.Lock.ID, e.Contender.Name} }

// clientsListedMsg is a new list, and how long that took.
type clientsListedMsg struct {
	list *clientList
	took time.Duration
}

// clientsDueMsg says that a newer list may be made.
type clientsDueMsg struct{}

func newClients(host Context) screen { return &clients{Context: host, input: newFilterInput(newWords)} }

// Open selects the owner of the place or, where it has a lock only, that lock's first holder.
func (s *clients) Open(p place) {
	who := p.owner
	if l := s.Snapshot().Lock(p.lock); who == (inspect.Identity{}) && l != nil && l.Contention() > 0 {
		first := append(l.Holders[:len(l.Holders):len(l.Holders)], l.Waiters...)[0]
		who, _ = first.Identity(p.lock.Backend)
	}
	if who == (inspect.Identity{}) || who == s.selected {
		return
	}
	s.selected, s.moved, s.graphing, s.inEntries, s.entry = who, true, false, false, entryKey{p.lock, ""}
	s.input.clear()
	s.filter()
}

func (s *clients) Crumb() string { return string(clientsScreen) }

func (s *clients) SetSize(width, height int) {
	s.width, s.height = width, height
	s.keepInSight()
}

// How long a maker of lists rests at least, and how old a list gets that nobody looks at.
const (
	clientsRest = time.Second
	clientsKept = 10 * time.Second
)

func (s *clients) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.stale = true
		return s.make()
	case clientsListedMsg:
		s.take(msg.list)
		return s.rest(max(clientsRest, 10*msg.took)) // at most a tenth of a core
	case clientsDueMsg:
		s.making = false
		return s.make()
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// make has a list made of the newest snapshot when one is wanted.
func (s *clients) make() tea.Cmd {
	if s.InFront() != clientsScreen {
		if s.list != nil && s.Now().Sub(s.list.of.TakenAt) > clientsKept {
			s.list, s.shown = nil, nil // it keeps old locks in memory
		}
		return nil
	}
	if s.making || !s.stale || !s.Arrived() {
		return nil
	}
	s.making, s.stale = true, false
	snapshot := s.Snapshot()
	return s.Ask(clientsScreen, 0, func(context.Context) tea.Msg {
		start := time.Now()
		list := listClients(snapshot)
		return clientsListedMsg{list, time.Since(start)}
	})
}

func (s *clients) rest(d time.Duration) tea.Cmd {
	return s.Ask(clientsScreen, 0, func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return clientsDueMsg{}
		}
	})
}

func (s *clients) take(list *clientList) {
	s.list = list
	s.filter()
}

// filter shows the clients in which every word occurs, and follows the selected one.
func (s *clients) filter() {
	former := s.row()
	s.shown = nil
	if s.list == nil {
		return
	}
	for _, r := range s.list.rows {
		if s.input.matchText(r.text) {
			s.shown = append(s.shown, r)
		}
	}
	at := s.table.at
	if i := placeOf(s.shown, s.selected); i >= 0 && s.moved {
		at = i
	} else if s.moved && former != nil && former.who == s.selected && s.input.matchText(former.text) {
		// It may come again in a moment: the cursor stays with it.
		at = min(at, len(s.shown))
		s.shown = slices.Insert(s.shown, at, former.resting())
		s.inEntries = false
	}
	s.selectAt(at)
	s.followGraph()
}

// selectAt selects a row of the table.
func (s *clients) selectAt(at int) {
	s.table.to(at, len(s.shown), s.rows())
	r := s.row()
	if r == nil {
		s.inEntries = false
		if s.list != nil && len(s.list.rows) == 0 {
			s.selected = inspect.Identity{}
		}
		return
	}
	if r.who != s.selected {
		s.selected, s.entry = r.who, entryKey{}
		s.entries = scroller{}
	}
	i := slices.IndexFunc(r.entries, func(e inspect.Entry) bool {
		return entryKeyOf(e) == s.entry || s.entry.name == "" && e.Lock.ID == s.entry.lock
	})
	if i < 0 {
		i = s.entries.at
	}
	s.selectEntry(i)
}

func (s *clients) selectEntry(at int) {
	r := s.row()
	if r == nil || len(r.entries) == 0 {
		return
	}
	s.entries.to(at, len(r.entries), s.entryRows())
	s.entry = entryKeyOf(r.entries[s.entries.at])
}

// row is the selected client; nil when there is none.
func (s *clients) row() *clientRow {
	if s.table.at < len(s.shown) {
		return s.shown[s.table.at]
	}
	return nil
}

func (s *clients) keepInSight() {
	s.table.to(s.table.at, len(s.shown), s.rows())
	if r := s.row(); r != nil {
		s.entries.to(s.entries.at, len(r.entries), s.entryRows())
	}
	s.followGraph()
}

func (s *clients) move(by int) {
	switch {
	case s.graphing:
		s.moveInGraph(by)
	case s.inEntries:
		s.selectEntry(s.entries.at + by)
	default:
		s.moved = true
		s.selectAt(s.table.at + by)
	}
}

func (s *clients) page() int {
	switch {
	case s.graphing:
		return max(1, s.height/4)
	case s.inEntries:
		return s.entryRows()
	default:
		return s.rows()
	}
}

// click selects a row; a click on the selected one opens it.
func (s *clients) click(msg tea.MouseClickMsg) {
	if msg.Button != tea.MouseLeft || msg.Y < 0 {
		return
	}
	if s.graphing {
		s.clickInGraph(msg.Y)
		return
	}
	g := s.layout()
	inTable := msg.X < g.tableWidth && msg.Y >= g.tableTop && msg.Y < g.tableTop+g.tableRows
	inEntries := msg.X >= g.left && msg.Y >= g.entriesTop && msg.Y < g.entriesTop+g.entryRows
	switch at := s.table.top + msg.Y - g.tableTop; {
	case inTable && at < len(s.shown):
		again := at == s.table.at && !s.inEntries
		s.inEntries, s.moved = false, true
		if s.selectAt(at); again {
			s.inEntries = true
		}
	case inEntries && s.row() != nil && s.entries.top+msg.Y-g.entriesTop < len(s.row().entries):
		at := s.entries.top + msg.Y - g.entriesTop
		again := s.inEntries && at == s.entries.at
		s.inEntries, s.moved = true, true
		if s.selectEntry(at); again {
			s.enter()
		}
	}
}

// enter goes from the table to what the client holds and waits for, and from there to the lock's chain.
func (s *clients) enter() {
	switch {
	case s.graphing, s.inEntries:
		if about := s.Selected(); about.lock != (inspect.ID{}) {
			s.Go(chainScreen, about)
		}
	case s.row() != nil:
		s.moved, s.inEntries = true, true
	}
}

// leave goes back the way enter came, and then to where the user came from.
func (s *clients) leave() {
	switch {
	case s.graphing:
		s.graphing = false
	case s.inEntries:
		s.inEntries = false
	case s.input.text() != "":
		s.clear()
	default:
		s.Back()
	}
}

func (s *clients) clear() {
	s.moved = s.moved || s.row() != nil
	s.input.clear()
	s.filter()
}

// Selected is the client and, of what it holds and waits for, the lock the cursor is on.
func (s *clients) Selected() subject {
	if s.graphing {
		if rows, at := s.graphRows(); at >= 0 {
			return rows[at].about
		}
		return subject{}
	}
	r := s.row()
	if r == nil {
		return subject{}
	}
	about := subject{owner: r.who}
	if s.entries.at < len(r.entries) {
		about.lock = r.entries[s.entries.at].Lock.ID
	}
	return about
}

func (s *clients) Typing() bool { return s.input.open }

// TakeKey types into the filter while it is open.
func (s *clients) TakeKey(msg tea.KeyPressMsg) bool {
	if !s.input.open {
		return false
	}
	switch msg.String() {
	case "up":
		s.move(-1)
	case "down":
		s.move(1)
	default:
		if key := msg.String(); key == "esc" || key == "enter" {
			s.moved = s.moved || s.row() != nil
		}
		if s.input.key(msg) {
			s.filter()
		}
	}
	return true
}

func (s *clients) Actions() []action {
	none := func() string {
		if s.Selected() == (subject{}) {
			return "nothing is selected"
		}
		return ""
	}
	open, graph := "its locks", "graph"
	if s.inEntries || s.graphing {
		open = "chain"
	}
	if s.graphing {
		graph = "clients"
	}
	list := []action{
		{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: open, help: "to what the client holds and waits for, and from there to the lock's chain", disabled: none, run: do(s.enter)},
		{keys: []string{"w"}, shown: "w", hint: graph, help: "who waits for whom: deadlocks, and chains over several locks", run: do(func() { s.graphing = !s.graphing })},
		{keys: []string{"esc", "h", "left"}, shown: "esc h", hint: "back", help: "leave the pane, clear the filter, or go back", run: do(s.leave)},
		{keys: []string{"/"}, shown: "/", hint: "filter", help: "show only clients that have all these words: name, address, lock, deadlock...", run: do(func() { s.input.open, s.graphing, s.inEntries = true, false, false })},
		{keys: []string{"tab"}, shown: "tab", help: "next pane: the clients, or what the selected one has", disabled: none, run: do(func() { s.inEntries = !s.inEntries && s.row() != nil && !s.graphing })},
		{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy who the client is, by the terminal (OSC 52)", disabled: none, run: s.copyClient},
	}
	return append(list, moves(s.move, s.page)...)
}

// copyClient puts the client's address on the clipboard or, where it is not known, its session or name.
func (s *clients) copyClient() tea.Cmd {
	at := placeOf(s.shown, s.Selected().owner)
	if at < 0 {
		return nil
	}
	r := s.shown[at]
	text := r.name
	switch o := &r.owner; {
	case o.Client != "":
		text = describe.Printable(o.Client)
	case o.Session != 0:
		text = inspect.SessionID(o.Session)
	case o.LibraryID != "":
		text = o.LibraryID.String()
	}
	s.Flash(fmt.Sprintf("copied %s", text))
	return tea.SetClipboard(text)
}

// Focus are the locks in sight, so that their queues are read in full.
func (s *clients) Focus() []inspect.ID {
	var ids []inspect.ID
	put := func(id inspect.ID) {
		if id != (inspect.ID{}) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if s.graphing {
		rows, _ := s.graphRows()
		from, to := s.graph.sight(len(rows), s.graphHeight())
		for _, r := range rows[from:to] {
			put(r.about.lock)
		}
	} else if r := s.row(); r != nil {
		from, to := s.entries.sight(len(r.entries), s.entryRows())
		for _, e := range r.entries[from:to] {
			put(e.Lock.ID)
		}
	}
	return ids
}

// Lively: ages are shown in whole seconds.
func (s *clients) Lively() bool { return false }
