package tui

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/release"
	"github.com/lockscope/lockscope/tui/screen"
)

// The smallest window that is drawn.
const (
	minWidth  = 40
	minHeight = 12
)

// Model is the root of the program: it routes messages to the screen in front and draws the frame around it.
type Model struct {
	*world
	width, height int

	waiting  *inspect.Snapshot // the newest, kept back while paused
	heldBack []inspect.Event   // those that came while paused
	skipped  int               // earlier events that were too many to keep
	forgot   int               // missed events up to the last pruning of the history
	missed   bool              // snapshots were skipped, so any lock may have changed
	// changes of snapshots, and which of them each screen has seen.
	changes changes
	heard   map[screen.Name]int
	ticking int // the generation of the tick under way
	tour    tour
	// playhead is the moment of the kept past that is drawn.
	playhead playhead
	filmRead bool // the film was read to its end
	focused  []inspect.ID
	// rang is when the bell last rang. known lists the backends that were read completely.
	rang  time.Time
	known map[string]bool
	// recovered lists the backends that have recovered, by name.
	recovered recoveries
	canvas    *lipgloss.Canvas // dialogs are drawn on it
}

// New makes the program's model. When ctx ends, so does everything that it waits for.
func New(ctx context.Context, o Options) *Model {
	w := &world{
		options: o,
		may:     permission{all: o.Armed},
		theme:   theme.New(o.Theme),
		now:     o.now(),
		history: screen.NewHistory(),
		past:    cmp.Or(o.Past, inspect.NewPast(inspect.PastKept, inspect.PastStep, inspect.PastBudget)),
		trends:  make(map[inspect.ID]trend),
		screens: make(map[screen.Name]screen.Screen),
		ctx:     ctx,
		alive:   &sync.RWMutex{},
	}
	w.snapshot = inspect.NewSnapshot(w.now, nil, nil)
	w.events.Offset = func(backend string) time.Duration { return w.snapshot.Backend(backend).ClockOffset() }
	m := &Model{
		world: w, width: roomyWidth, height: roomyHeight, recovered: make(recoveries), heard: make(map[screen.Name]int),
		known: make(map[string]bool), canvas: lipgloss.NewCanvas(0, 0),
	}
	for _, s := range screenList() {
		m.screens[s.name] = s.make(w, o)
	}
	m.backStack = []screen.Place{{Screen: screenList()[0].name}}
	m.inFront = m.backStack[0].Screen
	m.tour.scenes = o.Scenes
	m.playhead.speed = cmp.Or(o.Speed, 1)
	if m.filmed() {
		m.past, m.events.Keep = inspect.NewPast(0, inspect.PastStep, filmBudget), filmEvents
	}
	m.resize()
	return m
}

// Init asks for the first snapshot and, without waiting for it, for the background's colour.
func (m *Model) Init() tea.Cmd {
	first := m.nextSnapshot()
	if m.filmed() {
		first = m.nextFilmed()
	}
	return tea.Batch(first, m.nextTick(), tea.RequestBackgroundColor)
}

// Update routes a message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if esc, rest, ok := m.escapes(msg); ok {
		_, first := m.Update(esc)
		_, second := m.Update(rest)
		return m, tea.Batch(first, second)
	}
	cmd := m.route(msg)
	if opening := m.navigate(); opening != nil {
		cmd = tea.Batch(cmd, opening)
	}
	m.showLosses()
	disarm(m.world)
	m.resize()
	m.refocus()
	if len(m.queued) > 0 {
		cmd = tea.Batch(append(m.queued, cmd)...)
		m.queued = nil
	}
	return m, cmd
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.options.Theme.Profile = msg.Profile
		m.theme = theme.New(m.options.Theme)
	case tea.BackgroundColorMsg:
		m.options.Theme.Light, m.options.Theme.BackgroundKnown = !msg.IsDark(), true
		m.theme = theme.New(m.options.Theme)
	case snapshotArrivedMsg:
		return m.receive(msg)
	case filmedMsg:
		return m.receiveFilmed(msg)
	case momentMsg:
		return m.receiveMoment(msg)
	case tickedMsg:
		return m.tick(msg)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseMsg:
		return frame{m}.mouse(msg)
	case answeredMsg:
		return m.answer(msg)
	case pastSavedMsg:
		m.Flash(msg.words())
	case armedMsg:
		return m.arming(msg)
	case connectionsListedMsg:
		m.connections[msg.backend] = msg.is
	case release.MutedMsg:
		return m.muted(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	default:
		return m.toDialogs(msg)
	}
	return nil
}

// toDialog sends keys, pastes and the wheel to the top dialog. Without one they are dropped.
func (w *world) toDialog(msg tea.Msg) tea.Cmd {
	if d := w.top(); d != nil {
		return w.updateDialog(d, msg)
	}
	return nil
}

// toDialogs sends an answer to all dialogs, since the one that asked may be below another by now.
func (w *world) toDialogs(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, d := range slices.Backward(slices.Clone(w.dialogs)) {
		cmds = append(cmds, w.updateDialog(d, msg))
	}
	return tea.Batch(cmds...)
}

func (w *world) updateDialog(d screen.Dialog, msg tea.Msg) tea.Cmd {
	cmd, done := d.Update(msg)
	if done {
		w.close(d)
	}
	return cmd
}

// answer sends a screen the result of its command, even while another screen is in front.
func (m *Model) answer(msg answeredMsg) tea.Cmd {
	if s := m.screens[msg.to]; s != nil {
		return s.Update(msg.Msg)
	}
	return nil
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	m.flashText = ""
	switch {
	case key == "ctrl+c":
		return m.interrupt()
	case key == "ctrl+z":
		return m.suspend()
	case m.small():
		return m.keyUnseen(msg)
	case leavesComparison(m, key):
		m.close(m.top())
	case m.HasDialog():
		return m.toDialog(msg)
	}
	m.tour.recordKey(msg)
	if f := m.filter(); f != nil && f.Update(msg) {
		return nil
	}
	if why := m.cramped(key); why != "" {
		m.Flash(why)
		return nil
	}
	all := [][]screen.Action{m.sceneActions(), m.front().Actions(), m.globalActions(), m.commonActions()}
	for _, list := range all {
		if cmd, ok := screen.Press(m, list, key); ok {
			return cmd
		}
	}
	m.unbound(msg)
	return nil
}

// keyUnseen handles the few keys that work in a window too small to show anything.
func (m *Model) keyUnseen(msg tea.KeyPressMsg) tea.Cmd {
	held, waiting := m.inHand()
	switch key := msg.String(); {
	case key == "esc" && m.escapable() && m.HasDialog():
		return m.toDialog(msg)
	case key == "esc" && m.escapable():
		m.home()
	case key == "q" && !m.HasDialog() && held+waiting == 0:
		return tea.Quit
	}
	return nil
}

// filter is the filter of the list in front; nil if it has none.
func (w *world) filter() *screen.FilterInput {
	if f, ok := w.front().(screen.Filtering); ok {
		return f.Input()
	}
	return nil
}

// paste sends pasted text to the top dialog, or to the filter being typed. Elsewhere it does
// nothing.
func (m *Model) paste(msg tea.PasteMsg) tea.Cmd {
	if f := m.filter(); !m.HasDialog() && !m.small() && f != nil {
		f.Update(msg)
		return nil
	}
	return m.toDialog(msg)
}

func (m *Model) globalActions() []screen.Action {
	list := append(m.goToActions(), []screen.Action{
		{
			Keys: []string{"T"}, Shown: "T", Help: "the next theme: dark, light, colour-blind...",
			Run: screen.Do(m.nextTheme),
		},
		{
			Keys: []string{"H"}, Shown: "H", Help: "home: the list of all locks", Disabled: m.atHome,
			Run: screen.Do(func() { goHome(m) }),
		},
		{
			Keys: []string{"?", "f1"}, Shown: "? F1", Hint: "help", Help: "this page", Vital: true,
			Run: screen.Do(m.help),
		},
		{Keys: []string{"q"}, Shown: "q", Hint: "quit", Help: "quit (ctrl+c too)", Vital: true, Run: m.quit},
	}...)
	list = append(list, m.pastActions()...)
	if m.inFront != screen.Lab {
		list = append(list, m.acquireAction())
	}
	return append(list, []screen.Action{
		{
			Keys: []string{"space"}, Shown: "space", Hint: "pause", Late: true,
			Help: "pause, or resume; in the past: play, or stop", Run: m.pause,
		},
		{
			Keys: []string{":"}, Shown: ":", Hint: "go to", Late: true,
			Help: "go to a screen, lock or action by its name", Run: screen.Do(m.goTo),
		},
	}...)
}

func (m *Model) nextTheme() {
	m.options.Theme = m.options.Theme.Next()
	m.theme = theme.New(m.options.Theme)
	text := "theme: " + m.options.Theme.Name
	if m.options.Theme.NoColor {
		text += ", but without colours because of NO_COLOR or --no-color"
	}
	m.Flash(text)
}

func (m *Model) help() {
	m.Push(newHelp(m.world, m.front().Title(), offered(slices.Concat(m.front().Actions(), m.sceneActions())),
		offered(slices.Concat(m.globalActions(), acting{m.world}.actions()))))
}

func (m *Model) goTo() {
	all := slices.Concat(m.front().Actions(), m.sceneActions(), m.globalActions(), acting{m.world}.actions(),
		m.writeActions(), m.viewActions())
	m.Push(newPalette(m.world, m.front().Selected(), all, m.seek))
}

func (w *world) front() screen.Screen { return w.screens[w.backStack[len(w.backStack)-1].Screen] }

// navigate carries out the front screen's request to go somewhere.
func (m *Model) navigate() tea.Cmd {
	n := m.next
	m.next = navigation{}
	switch {
	case n.back && len(m.backStack) > 1:
		m.backStack, m.openedFrom = m.backStack[:len(m.backStack)-1], ""
	case m.screens[n.to.Screen] == nil:
		return nil
	case n.to.Screen == m.backStack[0].Screen: // home clears the back stack
		m.openedFrom = m.inFront
		m.backStack = []screen.Place{{Screen: n.to.Screen}}
		return m.open(n.to)
	default:
		m.openedFrom = m.backStack[len(m.backStack)-1].Screen
		m.backStack = walk(m.backStack, n.to)
	}
	return m.open(m.backStack[len(m.backStack)-1])
}

// open shows a screen. Only now does the screen learn what changed while it was hidden.
func (m *Model) open(p screen.Place) tea.Cmd {
	var cmd tea.Cmd
	if p.Screen != m.inFront {
		cmd = m.screens[m.inFront].Update(screen.HiddenMsg{})
		m.inFront = p.Screen
	}
	cmd = tea.Batch(cmd, m.screens[p.Screen].Open(p, m.news()))
	m.resize()
	return cmd
}

// news returns the changes since the last snapshot that the screen in front received.
func (m *Model) news() screen.SnapshotMsg {
	number := m.heard[m.inFront]
	m.heard[m.inFront] = m.changes.next()
	return m.changes.since(number)
}

// longestBackStack limits the back stack. The first place stays, and those after it are forgotten
// first.
const longestBackStack = 16

// walk returns the back stack after going to a place. If the place is already on the stack, it
// goes back to it.
func walk(stack []screen.Place, to screen.Place) []screen.Place {
	if at := slices.Index(stack, to); at >= 0 {
		return stack[:at+1]
	}
	if len(stack) == longestBackStack {
		stack = slices.Delete(stack, 1, 2)
	}
	return append(stack, to)
}

// goToActions are the keys that open the other screens, with the selection of the one in front.
func (m *Model) goToActions() []screen.Action {
	var list []screen.Action
	for i, e := range screenList() {
		digit := string(rune('1' + i))
		a := screen.Action{
			Keys: []string{digit}, Shown: digit, Help: string(e.name) + ": " + e.about,
			Run: screen.Do(func() { m.Go(e.name, m.subjectFor(e.name)) }),
		}
		if e.key != "" {
			a.Keys, a.Shown, a.Hint = []string{e.key, digit}, e.key+" "+digit, string(e.name)
		}
		if i == 0 {
			a.Run = screen.Do(func() { goHome(m) })
		}
		if e.name == m.inFront { // it is already open, whatever is selected now
			a.Hint, a.Disabled = "", func() string {
				if len(m.backStack) == 1 {
					return "already on " + string(e.name)
				}
				return "already on " + string(e.name) + ": esc goes back"
			}
		}
		list = append(list, a)
	}
	return list
}

// refocus reports the visible locks to the sources when they have changed.
func (m *Model) refocus() {
	if m.options.Focus == nil {
		return
	}
	if ids := m.front().Focus(); !slices.Equal(ids, m.focused) {
		m.focused = slices.Clone(ids)
		m.options.Focus(m.focused...)
	}
}

// resize lays out the screen in front within the frame, and the top dialog within the window. It
// runs last after each message, so that drawing changes nothing.
func (m *Model) resize() {
	if m.small() {
		return // nothing of it is drawn
	}
	height := m.height - len(frame{m}.head()) - len(frame{m}.foot())
	m.front().SetSize(m.width, max(1, height))
	if d, ok := m.top().(interface{ SetSize(width, height int) }); ok {
		d.SetSize(frame{m}.dialogSize())
	}
}

// footLines are the lines below a dialog: the last message, and the keys.
const footLines = 2

// dialogSize leaves some of the screen visible around a dialog.
func (f frame) dialogSize() (width, height int) { return f.width - 4, f.height - footLines }

// pause freezes the drawing, including its time, or shows the newest snapshot again.
func (m *Model) pause() tea.Cmd {
	if m.inPast() {
		m.play()
		return nil
	}
	m.paused = !m.paused
	if m.paused {
		return nil
	}
	m.now = m.options.now()
	if m.waiting == nil {
		return nil
	}
	m.addEvents(m.heldBack, m.skipped, m.snapshot, m.waiting)
	cmd := m.show(m.waiting)
	m.waiting, m.heldBack, m.skipped = nil, nil, 0
	return cmd
}
