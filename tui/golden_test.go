package tui

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

var sizes = []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}}

// fits returns the frame, and fails the test unless it is as high as the window and no wider.
func fits(t *testing.T, m *Model) (frame string) {
	t.Helper()
	frame = m.View().Content
	lines := strings.Split(frame, "\n")
	must.Equal(t, len(lines), m.height, "lines in a window of")
	for i, l := range lines {
		must.True(t, ansi.StringWidth(l) <= m.width, "line", i, "is too wide for a window of", m.width, l)
	}
	return frame
}

// pageMaker draws a page in a window.
type pageMaker func(t *testing.T, o Options, width, height int) *Model

func everything(t *testing.T, o Options, w, h int) *Model {
	return model(t, o, w, h, fixture.Everything())
}

func chainOf(l *inspect.Lock) pageMaker {
	return func(t *testing.T, o Options, w, h int) *Model { return opened(t, o, w, h, l.ID) }
}

func findingsAt(id inspect.ID) pageMaker {
	return func(t *testing.T, o Options, w, h int) *Model {
		m := goTo(model(t, o, w, h, allFindings()), screen.Findings, screen.Subject{Lock: id})
		return m
	}
}

func blocked(t *testing.T, o Options, w, h int) *Model {
	return inClients(t, o, w, h, fixture.BlockedClients(t), screen.Subject{})
}

var goldenPages = []struct {
	name string
	make pageMaker
	keys []string
}{
	{"locks", everything, nil},
	{"chain-zookeeper", chainOf(fixture.Orders()), nil},
	{"chain-readers", chainOf(fixture.Readers()), nil},
	{"chain-redlock", chainOf(fixture.Thin()), nil},
	{"chain-split", chainOf(fixture.Split()), nil},
	{"findings", findingsAt(fixture.Orders().ID), nil},
	{"findings-deadlock", findingsAt(fixture.Id("zk:/locks/ring-b")), []string{"j", "j", "enter", "g"}},
	{"findings-none", func(t *testing.T, o Options, w, h int) *Model {
		return model(t, o, w, h, snapshotOf(fixture.FreeLock(), fixture.Readers()))
	}, []string{"f"}},
	{"events", func(t *testing.T, o Options, w, h int) *Model { return withEvents(t, o, w, h, allKinds()...) }, nil},
	{"help", everything, []string{"?"}},
	{"release", func(t *testing.T, o Options, w, h int) *Model {
		o.Release = newFakeReleaser().of
		m := opened(t, o, w, h, fixture.Orders().ID)
		run(t, m, press(m, "x"))
		return m
	}, nil},
	{"ticket", chainOf(fixture.Orders()), []string{"Y"}},
	{"copy", chainOf(fixture.Orders()), []string{"y"}},
	{"palette", everything, []string{":", "l"}},
	{"filter", everything, []string{"/", "ord"}},
	{"acquire", func(t *testing.T, o Options, w, h int) *Model {
		o.Lab = newFakeLab()
		return inLab(t, o, w, h, fixture.Orders().ID)
	}, []string{"a", "orders"}},
	{"clients", blocked, nil},
	{"clients-entries", blocked, []string{"enter", "j"}},
	{"waitgraph", blocked, []string{"w"}},
	{"backends", inTroubledBackends, nil},
	{"backends-master", inTroubledBackends, []string{"j", "j", "j", "j", "j"}},
	{"backends-down", inTroubledBackends, []string{"G", "tab", "j"}},
	{"timeline-unfair", func(t *testing.T, o Options, w, h int) *Model { return unfairPlay(t, o, w, h).timeline() }, nil},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, page := range goldenPages {
		for _, size := range sizes {
			for _, ascii := range []bool{false, true} {
				name := fmt.Sprintf("%s-%dx%d", page.name, size.width, size.height)
				if ascii {
					name += "-ascii"
				}
				t.Run(name, func(t *testing.T) {
					m := page.make(t, Options{Title: "prod-eu", Theme: theme.Options{ASCII: ascii}}, size.width, size.height)
					press(m, page.keys...)
					fits(t, m)
					goldenScreen(t, name, m)
					must.True(t, !ascii || isASCII(content(m)), "not ASCII:\n", content(m))
				})
			}
		}
	}
}

func isASCII(s string) bool {
	for _, r := range s {
		if r > 0x7e {
			return false
		}
	}
	return true
}

// opened is a model that shows a lock's chain, after these keys.
func opened(t *testing.T, o Options, width, height int, lock inspect.ID, keys ...string) *Model {
	t.Helper()
	m := goTo(model(t, o, width, height, fixture.Everything()), screen.Chain, screen.Subject{Lock: lock})
	press(m, keys...)
	return m
}

// The accent is drawn in true colour. A theme without colours draws none.
func TestColoursFollowTheTheme(t *testing.T) {
	m := New(t.Context(), Options{Now: func() time.Time { return fixture.Noon }})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36}, snapshotArrivedMsg{snapshot: fixture.Everything()})
	send(m, tea.ColorProfileMsg{Profile: trueColor})
	must.Contain(t, m.View().Content, "38;2;95;215;167", "no accent in true colour")
	fits(t, m)
	plain := model(t, Options{}, 120, 36, fixture.Everything()).View().Content
	wantNone(t, plain, "\x1b[3", "\x1b[48")
}

func TestBadgesShowBeforeFirstSnapshot(t *testing.T) {
	for _, size := range sizes {
		m := model(t, Options{Sandbox: true, Environment: "production"}, size.width, size.height, nil)
		wantText(t, m, "Connecting", "READ-ONLY", "SANDBOX", "production")
	}
}

// A compact window shows everything, and disables actions whose dialog would not fit.
func TestCompactWindowDisablesActions(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := model(t, Options{}, 40, 12, fixture.Everything())
		if e.name == screen.Events {
			send(m, happening(allKinds()...))
		}
		if e.name == screen.Clients {
			m = inClients(t, Options{}, 40, 12, fixture.BlockedClients(t), screen.Subject{})
		}
		goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
		m.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
		if e.name == screen.Lab {
			wantText(t, m, "at least 80x24")
			continue
		}
		goldenScreen(t, string(e.name)+"-40x12", m)
		press(m, "x")
		must.True(t, !m.HasDialog(), e.name, "x opened a dialog")
		wantText(t, m, "window too small")
		press(m, "?")
		wantText(t, m, "Keys of this screen")
	}
}

func TestEveryFrameFits(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	step := servertest.Effort(t, 37, 9)
	for width := minWidth; width <= 220; width += step {
		for _, lock := range []inspect.ID{fixture.Orders().ID, fixture.Thin().ID, fixture.Hostile().ID, fixture.FreeLock().ID, fixture.UnknownLock().ID} {
			m := opened(t, Options{Caption: func(time.Time) string { return strings.Repeat("caption ", 30) }}, width, minHeight+width%25, lock)
			fits(t, m)
			press(m, "esc")
			fits(t, m)
			press(m, "?")
			fits(t, m)
		}
	}
}

func TestHostileNamesAreEscaped(t *testing.T) {
	wantText(t, model(t, Options{}, 200, 50, fixture.Everything()), `{200b}\xff`)
	m := opened(t, Options{}, 120, 36, fixture.Hostile().ID)
	wantText(t, m, `\u{1b}[31mred\u{202e}\u{d}\u{200b}\xff`, `evil\u{1b}]52`, `bell \u{7}`)
	wantNone(t, m.View().Content, "\x1b]", "\x1b[2J", "\x1b[5m", "\x1b[31m", "\a", "\r", "\u202e", "\u200b", "\xff")
}

var framesTo = flag.String("frames", "", "write the golden screens, in every colour mode, to this directory for screenshots")

// look is a terminal's colour profile with a theme.
type look struct {
	name    string
	theme   theme.Options
	profile colorprofile.Profile
}

var looks = []look{
	{"dark", theme.Options{BackgroundKnown: true, Profile: colorprofile.TrueColor}, colorprofile.TrueColor},
	{"light", theme.Options{BackgroundKnown: true, Light: true, Profile: colorprofile.TrueColor}, colorprofile.TrueColor},
	{"16", theme.Options{BackgroundKnown: true, Profile: colorprofile.ANSI}, colorprofile.ANSI},
	{"none", theme.Options{NoColor: true}, colorprofile.ASCII},
}

// kept are the screens whose golden files include colours, at 80x24. They cover each role of the theme.
var kept = []string{"locks", "chain-zookeeper", "chain-split", "findings", "timeline-unfair", "waitgraph", "backends", "release", "events"}

// goldenScreen compares a screen with its golden files: its text and, for those in kept, each look.
func goldenScreen(t *testing.T, name string, m *Model) {
	t.Helper()
	golden(t, name, content(m))
	inLooks(t, name, m)
}

// inLooks draws a screen in each colour mode. The text must be the same in all.
func inLooks(t *testing.T, name string, m *Model) {
	t.Helper()
	if m.options.Theme.ASCII {
		return
	}
	text := content(m)
	own := m.options.Theme
	defer func() {
		m.options.Theme = own
		send(m, tea.ColorProfileMsg{Profile: own.Profile})
	}()
	cursor := strings.NewReplacer(theme.New(looks[0].theme).Glyphs.Cursor, m.theme.Glyphs.Cursor) // without colours the shape marks the row
	for _, l := range looks {
		m.options.Theme = l.theme
		send(m, tea.ColorProfileMsg{Profile: l.profile})
		frame := fits(t, m)
		must.Equal(t, cursor.Replace(content(m)), text, "the text of", name, "differs in", l.name, "without colours")
		drawn := downTo(l.profile, frame)
		if page, isKept := strings.CutSuffix(name, "-80x24"); isKept && slices.Contains(kept, page) && l.name != "dark" {
			golden(t, name+"-"+l.name, drawn)
		}
		writeFrame(t, name, l, drawn)
	}
}

// writeFrame writes a frame for the screenshots if -frames is set.
func writeFrame(t *testing.T, name string, l look, drawn string) {
	t.Helper()
	if *framesTo == "" {
		return
	}
	must.Succeed(t, os.WriteFile(filepath.Join(*framesTo, fmt.Sprintf("%s-%s.ans", name, l.name)), []byte(drawn), 0o600))
}

// With two cursors only the row of the focused pane is marked, even without colours.
func TestOneMarkedRow(t *testing.T) {
	for _, size := range sizes[1:] {
		m := model(t, Options{Theme: theme.Options{NoColor: true}}, size.width, size.height, fixture.Everything())
		marked := func() (rows []string) {
			for _, l := range strings.Split(m.View().Content, "\n") {
				if _, after, ok := strings.Cut(l, "\x1b[7m"); ok {
					rows = append(rows, ansi.Strip(after))
				}
			}
			return rows
		}
		before := marked()
		press(m, "tab")
		after := marked()
		must.True(t, len(before) == 1 && len(after) == 1, size.width, "wide: marked", before, "then", after)
		must.Contain(t, before[0], "split 2")
		must.Contain(t, after[0], "10.2.1.1:6379")
	}
}

// The welcome page is drawn without a Model.
func TestWelcomeGolden(t *testing.T) {
	local := Local{Targets: []string{"zk://127.0.0.1:2181", "redis://127.0.0.1:6379"}, Tried: []string{"2181", "6379", "26379"}}
	for _, size := range append(sizes, struct{ width, height int }{minWidth, minHeight}) {
		name := fmt.Sprintf("welcome-%dx%d", size.width, size.height)
		for _, l := range looks {
			w := &welcome{theme: theme.New(l.theme), width: size.width, height: size.height, local: local}
			drawn := w.content()
			if l.name == "none" {
				golden(t, name, ansi.Strip(drawn)+"\n")
			}
			writeFrame(t, name, l, downTo(l.profile, drawn))
		}
	}
}

// downTo reduces a frame to the colours of a terminal.
func downTo(p colorprofile.Profile, frame string) string {
	var b bytes.Buffer
	w := colorprofile.Writer{Forward: &b, Profile: p}
	_, _ = w.WriteString(frame)
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		if ansi.Strip(l) == l {
			lines[i] = strings.TrimRight(l, " ")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// The key cycles through all themes, and the screen changes at once.
func TestThemeKey(t *testing.T) {
	m := New(t.Context(), Options{Now: func() time.Time { return fixture.Noon }})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36}, snapshotArrivedMsg{snapshot: fixture.Everything()})
	send(m, tea.ColorProfileMsg{Profile: trueColor}, tea.BackgroundColorMsg{Color: color.Black})
	seen := map[string]bool{}
	for _, name := range []string{theme.Dark, theme.Light, theme.HighContrast, theme.ColourBlind, theme.Auto} {
		keysShow(t, m, "T", "theme: "+name)
		must.Equal(t, m.View().BackgroundColor != nil, name == theme.Light, name, "has a background on a dark terminal")
		m.flashText = ""
		frame := m.View().Content
		must.True(t, name == theme.Auto || !seen[frame], name, "looks like an earlier one")
		seen[frame] = true
		fits(t, m)
	}
	wantText(t, model(t, Options{}, 80, 24, fixture.Everything(), "T"), "NO_COLOR")
}
