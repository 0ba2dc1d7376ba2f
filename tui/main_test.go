package tui

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	time.Local = time.UTC // golden files have times of day, which are local
	// Bubble Tea's reader blocks if an answer of the terminal arrives after the end of its loop.
	servertest.Main(m, goleak.IgnoreTopFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).sendEvents"))
}

// golden compares got with testdata/NAME.golden, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		must.Succeed(t, os.MkdirAll("testdata", 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	must.NoDiff(t, cmp.Diff(string(want), got), path, "(-update accepts it)")
}

// plain draws without colour, so that golden files can be read.
func plain(o Options) Options {
	o.Theme = theme.Options{NoColor: true, ASCII: o.Theme.ASCII}
	if o.Now == nil {
		o.Now = func() time.Time { return fixture.Noon }
	}
	return o
}

// model returns a model with a window and, unless nil, a snapshot, after these keys.
func model(t *testing.T, o Options, width, height int, s *inspect.Snapshot, keys ...string) *Model {
	t.Helper()
	m := New(t.Context(), plain(o))
	send(m, tea.WindowSizeMsg{Width: width, Height: height})
	if s != nil {
		deliver(m, s)
	}
	press(m, keys...)
	return m
}

// snapshotOf is a snapshot of the usual backends with these locks.
func snapshotOf(list ...*inspect.Lock) *inspect.Snapshot {
	return inspect.NewSnapshot(fixture.Noon, fixture.Backends(), list)
}

// deliver sends a snapshot as the feed does.
func deliver(m *Model, s *inspect.Snapshot) { send(m, snapshotArrivedMsg{snapshot: s}) }

// send sends messages, and returns the command of the last one.
func send(m *Model, msgs ...tea.Msg) (cmd tea.Cmd) {
	for _, msg := range msgs {
		_, cmd = m.Update(msg)
	}
	return cmd
}

// press sends keys: names such as enter, single characters, or a text, which is typed.
func press(m *Model, keys ...string) (cmd tea.Cmd) {
	for _, k := range keys {
		switch {
		case namedKeys()[k] != 0, k == "shift+tab", strings.HasPrefix(k, "ctrl+"):
			cmd = send(m, keyPress(k))
		default:
			for _, r := range k {
				cmd = send(m, keyPress(string(r)))
			}
		}
	}
	return cmd
}

// messages runs a command, or all of a batch, and collects the answers of one type.
func messages[T any](cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case T:
		return []tea.Msg{msg}
	case tea.BatchMsg:
		for _, c := range msg {
			all = append(all, messages[T](c)...)
		}
	}
	return all
}

// goTo opens a screen.
func goTo(m *Model, to screen.Name, about screen.Subject) *Model {
	m.Go(to, about)
	m.navigate()
	return m
}

// content is the screen as text, without trailing blanks.
func content(m *Model) string { return textOf(m.View().Content) }

func textOf(frame string) string {
	lines := splitLines(ansi.Strip(frame))
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// foot is the last line of the screen.
func foot(m *Model) string {
	lines := splitLines(strings.TrimRight(content(m), "\n"))
	return lines[len(lines)-1]
}

// wantText reports texts that are not on the screen, and a frame that does not fit.
func wantText(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	wantIn(t, textOf(fits(t, m)), texts...)
}

// wantNoText reports texts that are on the screen, and a frame that does not fit.
func wantNoText(t *testing.T, m *Model, texts ...string) {
	t.Helper()
	wantNone(t, textOf(fits(t, m)), texts...)
}

// keysShow presses keys, separated by spaces, and checks that texts are on the screen.
func keysShow(t *testing.T, m *Model, keys string, texts ...string) {
	t.Helper()
	press(m, strings.Fields(keys)...)
	wantText(t, m, texts...)
}

// keysHide presses keys, and checks that no such text is on the screen.
func keysHide(t *testing.T, m *Model, keys string, texts ...string) {
	t.Helper()
	press(m, strings.Fields(keys)...)
	wantNoText(t, m, texts...)
}

// receives sends a message, and checks that texts are on the screen.
func receives(t *testing.T, m *Model, msg tea.Msg, texts ...string) {
	t.Helper()
	send(m, msg)
	wantText(t, m, texts...)
}

// keysRun presses keys, runs their command, which must exist, and checks that texts are on the
// screen.
func keysRun(t *testing.T, m *Model, keys string, texts ...string) {
	t.Helper()
	run(t, m, press(m, strings.Fields(keys)...))
	wantText(t, m, texts...)
}

// keysSettle presses keys, settles their command, and checks that texts are on the screen.
func keysSettle(t *testing.T, m *Model, keys string, texts ...string) {
	t.Helper()
	settle(t, m, press(m, strings.Fields(keys)...))
	wantText(t, m, texts...)
}

// wantIn reports the parts that a text lacks.
func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		must.Contain(t, text, part)
	}
}

// wantNone reports the parts that a text must not have.
func wantNone(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		must.True(t, !strings.Contains(text, part), part, "is in\n", text)
	}
}

// refuses presses keys that must neither start a command nor leave a dialog open.
func refuses(t *testing.T, m *Model, keys ...string) {
	t.Helper()
	must.True(t, press(m, keys...) == nil, keys, "started a command")
	must.True(t, !m.HasDialog(), keys, "left a dialog open")
}

// quits presses keys that must end the program.
func quits(t *testing.T, m *Model, keys ...string) {
	t.Helper()
	cmd := press(m, keys...)
	must.True(t, cmd != nil && cmd() == tea.QuitMsg{}, keys, "does not quit")
}

// fakeFeed delivers the snapshots that are put into it.
type fakeFeed chan *inspect.Snapshot

func (f fakeFeed) Next(ctx context.Context) (*inspect.Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case s := <-f:
		return s, nil
	}
}

var trueColor = colorprofile.TrueColor

func splitLines(s string) []string { return strings.Split(s, "\n") }

// heldScreen is a screen that is never shown, and holds locks.
type heldScreen struct {
	screen.Screen
	n     func() int
	waits int
}

func (s heldScreen) Holding() (held, waiting int) { return s.n(), s.waits }
func (s heldScreen) Update(tea.Msg) tea.Cmd       { return nil }

// holding lets the program hold n locks.
func holding(m *Model, n func() int) { m.screens["held"] = heldScreen{n: n} }
