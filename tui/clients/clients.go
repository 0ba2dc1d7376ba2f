package clients

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen lists sessions and processes with their holds and waits, and draws the wait-for graph.
type Screen struct {
	screen.Context
	width, height int
	list          *clientList // nil until the first was made
	shown         []*clientRow
	order         order
	input         screen.FilterInput
	Table         widget.Scroller
	selected      inspect.Identity
	// moved is set once the user moves the cursor. Until then the first row stays selected.
	moved bool

	// inEntries is set while the selected client's holds and waits have the focus.
	inEntries bool
	entries   widget.Scroller
	entry     entryKey
	// detailed is the height of detailsOf's details. locks and blockers are column widths of its
	// entries.
	detailed, locks, blockers widget.Widest // blockers: without their domain
	detailsOf                 inspect.Identity
	// names, brief and addresses are column widths: the names, the names without their domain,
	// and the addresses. They only grow until the table is sorted or resized.
	names, brief, addresses int

	graphing bool
	graph    widget.Scroller
	node     string // the selected row of the graph

	// Making is set while a list is being made, and during the pause after it. stale is set if the
	// list's snapshot is no longer the newest.
	Making, stale bool
	began         time.Time // when the newest list was begun
	// sorted is when the rows were last sorted. They keep that order once the user moves the cursor.
	// Zero means that the next list must be sorted.
	sorted time.Time
	// hidden is set while another screen is in front. hides counts how often that happened.
	hidden bool
	hides  int
}

// entryKey identifies a client's entry across lists.
type entryKey struct {
	lock inspect.ID
	name inspect.Untrusted
}

func entryKeyOf(e inspect.Entry) entryKey { return entryKey{e.Lock.ID, e.Contender.Name} }

func New(host screen.Context) screen.Screen {
	s := &Screen{Context: host, input: screen.NewFilterInput(screen.NewWords)}
	s.input.Move = s.move
	s.input.Chosen = func() { s.moved = s.moved || s.Row() != nil }
	s.input.Changed = func() {
		if s.input.Text() == "" {
			s.input.Chosen()
		}
		s.filter()
	}
	return s
}

func (s *Screen) Open(p screen.Place, missed screen.SnapshotMsg) tea.Cmd {
	s.stale = s.stale || s.list == nil || missed.All || len(missed.Changed) > 0
	s.hidden, s.sorted = false, time.Time{}
	if s.OpenedFrom() != "" { // not after going back
		s.graphing = false
		s.toTop()
	}
	s.choose(p)
	return s.make()
}

// toTop selects the first row.
func (s *Screen) toTop() {
	s.moved, s.inEntries, s.Table = false, false, widget.Scroller{}
	s.detailed, s.locks, s.blockers = widget.Widest{}, widget.Widest{}, widget.Widest{}
	s.filter()
}

// choose selects the owner of the given place.
func (s *Screen) choose(p screen.Place) {
	who := p.Owner
	if who == (inspect.Identity{}) || who == s.selected && s.moved {
		return
	}
	s.selected, s.moved, s.graphing, s.inEntries, s.entry = who, true, false, false, entryKey{p.Lock, ""}
	s.input.Clear()
	s.filter()
	s.scrollUp()
}

// scrollUp scrolls the table up as far as the cursor allows.
func (s *Screen) scrollUp() {
	s.Table.Top = 0
	s.keepInSight()
}

func (s *Screen) Title() string { return string(screen.Clients) }

func (s *Screen) SetSize(width, height int) {
	if width != s.width {
		s.names, s.brief, s.addresses = 0, 0, 0
	}
	s.width, s.height = width, height
	s.keepInSight()
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.stale = true
		return s.make()
	case ClientsListedMsg:
		if !s.hidden || s.list != nil {
			s.show(msg.List)
		}
		return s.after(max(clientsRest, 10*s.Clock().Sub(s.began)), clientsDueMsg{}) // at most a tenth of a core
	case screen.HiddenMsg:
		s.hidden = true
		s.hides++
		return s.after(clientsKept, clientsOldMsg{s.hides})
	case clientsOldMsg:
		if s.hidden && s.hides == msg.hides {
			s.list, s.shown = nil, nil
		}
	case clientsDueMsg:
		s.Making = false
		return s.make()
	case tea.MouseWheelMsg:
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// show displays a newer list. Its rows keep their places, as sorted describes.
func (s *Screen) show(list *clientList) {
	if s.list != nil {
		list.remember(s.list.rows)
	}
	_, scanning := screen.Scanned(s)
	first := s.list == nil || s.sorted.IsZero()
	if !first && (s.moved || !scanning) {
		list.keepPlaces(s.list.rows, s.Now())
	}
	s.list = list
	if !first && s.moved {
		s.filter()
		return
	}
	list.sort(s.order) // the user may have chosen another meanwhile
	s.sorted = s.Now()
	s.filter()
	s.scrollUp()
}

// filter shows the clients that contain every word, and follows the selected one.
func (s *Screen) filter() {
	former := s.Row()
	s.shown = nil
	if s.list == nil {
		return
	}
	for _, r := range s.list.rows {
		if s.input.MatchText(r.text) {
			s.shown = append(s.shown, r)
		}
	}
	at := s.Table.At
	if i := indexOf(s.shown, s.selected); i >= 0 && s.moved {
		s.Table.Top += i - at // on its line of the window
		at = i
	} else if s.moved && former != nil && former.who == s.selected && s.input.MatchText(former.text) {
		// The client may return in a moment, so its row stays.
		at = min(at, len(s.shown))
		s.shown = slices.Insert(s.shown, at, former.idleCopy(s.Now()))
		s.inEntries = false
	}
	s.selectAt(at)
	s.followGraph()
	s.wantPossible()
}

// selectAt selects a row of the table.
func (s *Screen) selectAt(at int) {
	s.Table.To(at, len(s.shown), s.rows())
	r := s.Row()
	if r == nil || len(r.entries) == 0 {
		s.inEntries = false // its keys would do nothing
	}
	if r == nil {
		if s.list != nil && len(s.list.rows) == 0 {
			s.selected = inspect.Identity{}
		}
		return
	}
	if r.who != s.selected {
		s.selected, s.entry = r.who, entryKey{}
		s.entries = widget.Scroller{}
	}
	i := slices.IndexFunc(r.entries, func(e inspect.Entry) bool {
		return entryKeyOf(e) == s.entry || s.entry.name == "" && e.Lock.ID == s.entry.lock
	})
	switch {
	case i < 0 && s.entry == (entryKey{}):
		i = r.worst()
	case i < 0:
		i = s.entries.At
	}
	s.selectEntry(i)
}

func (s *Screen) selectEntry(at int) {
	r := s.Row()
	if r == nil || len(r.entries) == 0 {
		return
	}
	s.entries.To(at, len(r.entries), s.entryRows())
	s.entry = entryKeyOf(r.entries[s.entries.At])
}

// Row is the selected client; nil if none.
func (s *Screen) Row() *clientRow {
	if s.Table.At < len(s.shown) {
		return s.shown[s.Table.At]
	}
	return nil
}

func (s *Screen) keepInSight() {
	s.Table.To(s.Table.At, len(s.shown), s.rows())
	if r := s.Row(); r != nil {
		s.entries.To(s.entries.At, len(r.entries), s.entryRows())
	}
	s.followGraph()
}

func (s *Screen) move(by int) {
	switch {
	case s.graphing:
		s.moveInGraph(by)
	case s.inEntries:
		s.selectEntry(s.entries.At + by)
	default:
		s.moved = true
		s.selectAt(s.Table.At + by)
		s.wantPossible()
	}
}

func (s *Screen) page() int {
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
func (s *Screen) click(msg tea.MouseClickMsg) {
	if msg.Button != tea.MouseLeft {
		return
	}
	if s.graphing {
		s.clickInGraph(msg.Y)
		return
	}
	g := s.Layout()
	within := func(top, rows int) bool { return msg.Y >= top && msg.Y < top+rows }
	inTable := msg.X < g.tableWidth && within(g.tableTop, g.tableRows)
	inEntries := msg.X >= g.left && within(g.EntriesTop, g.entryRows)
	switch at := s.Table.Top + msg.Y - g.tableTop; {
	case inTable && at < len(s.shown):
		again := at == s.Table.At && !s.inEntries
		s.inEntries, s.moved = false, true
		if s.selectAt(at); again {
			s.inEntries = true
		}
	case inEntries:
		at := s.entries.Top + msg.Y - g.EntriesTop
		if r := s.Row(); r == nil || at >= len(r.entries) {
			return
		}
		again := s.inEntries && at == s.entries.At
		s.inEntries, s.moved = true, true
		if s.selectEntry(at); again {
			s.enter()
		}
	}
}

// enter goes from the table to the client's holds and waits, and from there to the lock's chain.
func (s *Screen) enter() {
	switch {
	case s.graphing, s.inEntries:
		if about := s.Selected(); about.Lock != (inspect.ID{}) {
			s.Go(screen.Chain, about)
		}
	case s.Row() != nil:
		s.moved, s.inEntries = true, true
	}
}

// Selected is the client, and the lock of its selected hold or wait.
func (s *Screen) Selected() screen.Subject {
	if s.graphing {
		if rows, at := s.graphRows(); at >= 0 {
			return rows[at].about
		}
		return screen.Subject{}
	}
	r := s.Row()
	if r == nil {
		return screen.Subject{}
	}
	about := screen.Subject{Owner: r.who}
	if s.entries.At < len(r.entries) {
		about.Lock = r.entries[s.entries.At].Lock.ID
	}
	return about
}

// Contender returns the selected client's contender on the selected lock.
func (s *Screen) Contender() (*inspect.Lock, *inspect.Contender) {
	r := s.Row()
	if s.graphing || r == nil || s.entries.At >= len(r.entries) {
		return nil, nil
	}
	e := r.entries[s.entries.At]
	return e.Lock, e.Contender
}

// Input is the filter of the list.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

func (s *Screen) Actions() []screen.Action {
	none := func() string {
		if s.Selected() == (screen.Subject{}) {
			return "nothing is selected"
		}
		return ""
	}
	unsorted := func() string {
		if s.graphing {
			return "the graph cannot be sorted: w goes to the clients"
		}
		return ""
	}
	open, graph, sort, toggle := "its locks", "deadlocks", "sort", []string{"w"}
	if s.inEntries || s.graphing {
		open = "chain"
	}
	if s.graphing {
		graph, sort, toggle = "clients", "", []string{"w", "c"}
	}
	list := []screen.Action{
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: open,
			Help: "go to the client's locks, and from there to a lock's chain", Disabled: none,
			Run: screen.Do(s.enter),
		},
		{
			Keys: toggle, Shown: "w", Hint: graph,
			Help: "show waits across locks: deadlocks, and holders that wait for another lock",
			Run:  screen.Do(func() { s.graphing = !s.graphing }),
		},
	}
	if s.graphing || s.inEntries {
		leave := screen.LeaveAction(func() { s.graphing, s.inEntries = false, false })
		if s.graphing { // w already has this hint
			leave.Hint = ""
		}
		list = append(list, leave)
	}
	filter := s.input.Actions("filter: show only clients that have all these words: name, address, lock, deadlock...")
	start := filter[0].Run
	filter[0].Run = func() tea.Cmd {
		s.graphing, s.inEntries = false, false
		return start()
	}
	list = append(append(list, filter...), screen.BackAction(s.Context))
	list = append(list, []screen.Action{
		{
			Keys: []string{"s"}, Shown: "s", Hint: sort, Late: true,
			Help:     "change the order: blocks, holds or waits for the most, waits longest, name",
			Disabled: unsorted, Run: screen.Do(s.nextOrder),
		},
		{Keys: []string{"S"}, Shown: "S", Help: "reverse the order", Disabled: unsorted, Run: screen.Do(s.reverse)},
		{
			Keys: []string{"tab"}, Shown: "tab", Help: "next pane: the clients, or the selected one's locks",
			Disabled: none, Run: screen.Do(func() {
				s.inEntries, s.moved = !s.inEntries && s.Row() != nil && !s.graphing, true
			}),
		},
		{
			Keys: []string{"y"}, Shown: "y", Hint: "copy", Late: true,
			Help: "copy the client's name, address or session, via the terminal's clipboard (OSC 52)", Disabled: none, Run: s.copyClient,
		},
	}...)
	return append(list, screen.Moves(s.move, s.page)...)
}

// copyClient puts the client's address on the clipboard or, if unknown, its session or name.
func (s *Screen) copyClient() tea.Cmd {
	at := indexOf(s.shown, s.Selected().Owner)
	if at < 0 {
		return nil
	}
	r := s.shown[at]
	text := r.Name
	switch o := &r.owner; {
	case o.Client != "":
		text = describe.Printable(o.Client)
	case o.Session != 0:
		text = inspect.SessionID(o.Session)
	case o.LibraryID != "":
		text = o.LibraryID.String()
	}
	return screen.ToClipboard(s, text, text)
}

// NeedsFastTick is false, since ages are shown in whole seconds.
func (s *Screen) NeedsFastTick() bool { return false }
