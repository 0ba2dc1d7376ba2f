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

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

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
	t.Parallel()
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
	t.Parallel()
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
		shows(t, m, "T", "theme: "+name)
		must.Equal(t, m.View().BackgroundColor != nil, name == theme.Light, name, "has a background on a dark terminal")
		m.flashText = ""
		frame := m.View().Content
		must.True(t, name == theme.Auto || !seen[frame], name, "looks like an earlier one")
		seen[frame] = true
		fits(t, m)
	}
	plain := model(t, Options{}, 80, 24, fixture.Everything())
	shows(t, plain, "T", "NO_COLOR")
}
