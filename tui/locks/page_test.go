package locks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// page is the screen of locks alone. The test presses keys and reads the drawing.
type page struct {
	screen.Context // nil; page has the methods that the screen uses
	*Screen
	t        *testing.T
	snapshot *inspect.Snapshot
	theme    *theme.Theme
	now      time.Time
	log      screen.EventLog
	granted  inspect.Untrusted
	failed   error

	copied string
	said   string
	went   string
	dialog screen.Dialog
	later  []tea.Msg
}

func (p *page) Snapshot() *inspect.Snapshot      { return p.snapshot }
func (p *page) Theme() *theme.Theme              { return p.theme }
func (p *page) Now() time.Time                   { return p.now }
func (p *page) Clock() time.Time                 { return p.now }
func (p *page) Arrived() bool                    { return true }
func (p *page) Live() bool                       { return true }
func (p *page) CannotAcquire() string            { return "" }
func (p *page) Past() bool                       { return false }
func (p *page) Paused() bool                     { return false }
func (p *page) FeedError() error                 { return p.failed }
func (p *page) NoClipboard() string              { return "" }
func (p *page) Clipboard() string                { return "" }
func (p *page) InFront() screen.Name             { return screen.Locks }
func (p *page) OpenedFrom() screen.Name          { return "" }
func (p *page) Log() *screen.EventLog            { return &p.log }
func (p *page) Lifetime() context.Context        { return p.t.Context() }
func (p *page) WantPossible(*inspect.Lock)       {}
func (p *page) Push(d screen.Dialog)             { p.dialog = d }
func (p *page) HasDialog() bool                  { return p.dialog != nil }
func (p *page) Flash(text string)                { p.said = text }
func (p *page) Grants(inspect.ID) []screen.Grant { return nil }

func (p *page) Possible(*inspect.Lock, *inspect.Contender) (screen.Possible, bool) {
	return screen.Possible{}, false
}

func (p *page) Commands(*inspect.Lock, *inspect.Contender) []describe.Command { return nil }

func (p *page) JustGranted(_ inspect.ID, name inspect.Untrusted) bool { return name == p.granted }

func (p *page) FoundAt(inspect.ID, *inspect.Finding) (time.Time, bool) { return time.Time{}, false }

func (p *page) Trend(id inspect.ID) inspect.Trend { return inspect.Trend{} }

func (p *page) Go(to screen.Name, about screen.Subject) {
	p.went = string(to) + " " + about.Lock.String()
}

func (p *page) Later(cmd tea.Cmd) { p.later = append(p.later, cmd()) }

func (p *page) Request(_ screen.Name, _ time.Duration, f func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg { return f(p.t.Context()) }
}

// open shows locks in a window of some size.
func open(t *testing.T, s *inspect.Snapshot, width, height int) *page {
	p := &page{t: t, snapshot: s, now: fixture.Noon, theme: theme.New(theme.Options{ASCII: true, NoColor: true})}
	p.Screen = New(p, nil).(*Screen)
	p.SetSize(width, height)
	return p.put(s)
}

// some returns locks in all states.
func some() *inspect.Snapshot {
	locks := []*inspect.Lock{
		fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Thin(), fixture.Split(), fixture.Minority(), fixture.UnknownLock(),
	}
	return inspect.NewSnapshot(fixture.Noon, fixture.Backends(), locks)
}

// press sends keys to the dialog, to the filter while it is typed, or else to the screen.
func (p *page) press(keys ...string) *page {
	p.t.Helper()
	for _, key := range keys {
		msg := tea.KeyPressMsg{Text: key, Code: []rune(key)[0]}
		if code, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown}[key]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		switch {
		case p.dialog != nil:
			cmd, done := p.dialog.Update(msg)
			if cmd != nil {
				p.copied = fmt.Sprint(cmd())
			}
			if done {
				p.dialog = nil
			}
		case p.input.Update(msg):
		default:
			_, ok := screen.Press(p, p.Screen.Actions(), key)
			must.True(p.t, ok, "no action has the key", key)
		}
		p.SetSize(p.width, p.height)
	}
	return p
}

// put sends a new snapshot in which these locks have changed.
func (p *page) put(s *inspect.Snapshot, changed ...inspect.ID) *page {
	p.snapshot = s
	p.Screen.Update(screen.SnapshotMsg{Changed: changed, All: len(changed) == 0})
	p.SetSize(p.width, p.height)
	return p
}

func (p *page) click(x, y int) {
	p.Screen.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	p.SetSize(p.width, p.height)
}

// drawn is the screen's text up to a column, without trailing spaces.
func (p *page) drawn(columns int) string {
	var lines []string
	for line := range strings.Lines(ansi.Strip(p.View())) {
		lines = append(lines, strings.TrimRight(ansi.Truncate(strings.TrimSuffix(line, "\n"), columns, ""), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (p *page) expect(what, want string) {
	p.t.Helper()
	must.Equal(p.t, cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(p.drawn(400), "\n")), "", what)
}

// names lists the visible locks or groups, with the selected one in «».
func (p *page) names() string {
	var names []string
	for i, e := range p.Visible() {
		name := "group"
		if e.Row != nil {
			name = e.Row.ID.Path[strings.LastIndexAny(e.Row.ID.Path, "/:")+1:]
		} else if e.Group != nil {
			name = e.Group.Path
		}
		if p.table.Top+i == p.table.At {
			name = "«" + name + "»"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}
