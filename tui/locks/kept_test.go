package locks

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

var update = flag.Bool("update", false, "write the golden files")

// kept compares got with testdata/NAME.golden, or writes it with -update.
func kept(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		must.Succeed(t, os.MkdirAll("testdata", 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	must.NoDiff(t, cmp.Diff(string(must.Have(os.ReadFile(path))(t)), got), path, "(-update accepts it)")
}

// troubled are locks of two backends, one of which has just been lost.
func troubled() *inspect.Snapshot {
	b := fixture.Backends()
	b[1].State, b[1].HeardAt = inspect.Down, fixture.Noon
	long, muted, plain := fixture.Orders(), fixture.Readers(), fixture.Orders()
	long.ExpectedHold, plain.ID, plain.Findings = time.Minute, fixture.Id("zk:/plain"), nil
	muted.Findings = []inspect.Finding{{Rule: "herd", Severity: inspect.Warning, Muted: &inspect.Muted{Until: fixture.In(time.Hour)}}}
	plain.Waiters[0].Since, plain.Waiters = time.Time{}, plain.Waiters[:1]
	forever := inspect.KeyLock(fixture.Id("redis:lock:forever"), []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "v", NoExpiry: true}}, fixture.Noon)
	over := inspect.KeyLock(fixture.Id("redis:lock:over"), []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "v", ExpiresAt: fixture.Ago(1)}}, fixture.Noon)
	locks := []*inspect.Lock{long, muted, plain, forever, over, fixture.Thin(), fixture.Hostile(), fixture.FreeLock()}
	return inspect.NewSnapshot(fixture.Noon, b, locks)
}

// Signs, cells and summaries have their colours, and rows of a lost backend look old.
func TestColoursAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		s             *inspect.Snapshot
		width, height int
		keys          []string
	}{
		"wide": {some(), 260, 40, []string{"v"}}, "stacked": {some(), 110, 32, []string{"tab"}}, "groups": {some(), 80, 12, []string{"p", "down", "enter"}},
		"lost": {troubled(), 260, 14, nil}, "names": {troubled(), 120, 14, []string{"W"}}, "narrow": {troubled(), 58, 14, []string{"/", "lock", "enter"}},
		"columns": {some(), 80, 24, []string{"C", "j", "space", "j"}},
	} {
		p := open(t, test.s, test.width, test.height)
		p.theme = theme.New(theme.Options{BackgroundKnown: true, Profile: colorprofile.TrueColor})
		p.granted = fixture.Orders().Holders[0].Name
		p.SetSize(test.width, test.height)
		p.press(test.keys...)
		text := p.View() + "\n"
		if p.dialog != nil {
			text += p.dialog.View(test.width, test.height) + "\n"
			for _, a := range p.dialog.Actions() {
				text += a.Shown + " " + a.Hint + "\n"
			}
		}
		at, of, rows := p.ScrollPosition()
		kept(t, name, text+fmt.Sprintln(at, of, rows, p.NeedsFastTick(), p.Marked(), p.Title()))
	}
}

// The widths of the columns stay the same, for tables of all widths and for short and long names.
func TestWidthsAreKept(t *testing.T) {
	var lines []string
	chosen, _ := newTable([]string{"client", "session", "backend", "holder", "lock", "finding"})
	for _, need := range []needs{{}, {name: 12, holder: 10, client: 20, held: 6}, {name: 40, holder: 24, client: 46, held: 9, finding: 20}, {name: 90, holder: 60, client: 60, held: 7, finding: 30}} {
		for i, table := range []table{usualTable(), chosen, namesTable()} {
			for width := 36; width < 240; width += 4 + width/16 {
				list, widths := table.layout(width, need)
				line := fmt.Sprintf("%v table %d, %d:", need, i, width)
				for i, c := range list {
					line += fmt.Sprintf(" %s %d", c.Title, widths[i])
					if c.Brief {
						line += " brief"
					}
				}
				lines = append(lines, line)
			}
		}
	}
	kept(t, "widths", strings.Join(lines, "\n")+"\n")
}

// Each key has a help text, or the reason why it is disabled: without a lock, on one, on a group and
// in the chain.
func TestKeysAreKept(t *testing.T) {
	var lines []string
	for _, test := range []struct {
		name          string
		s             *inspect.Snapshot
		width, height int
		keys          []string
	}{
		{"without locks", inspect.NewSnapshot(fixture.Noon, fixture.Backends(), nil), 80, 12, nil},
		{"on a lock", some(), 80, 12, nil},
		{"on a group", some(), 80, 12, []string{"p", "up"}},
		{"in the chain", some(), 190, 36, []string{"tab"}},
	} {
		p := open(t, test.s, test.width, test.height)
		lines = append(lines, test.name)
		for _, a := range p.press(test.keys...).Screen.Actions() {
			why := ""
			if a.Disabled != nil {
				why = a.Disabled()
			}
			lines = append(lines, fmt.Sprintf("  %v %q %q late %v: %q; %q", a.Keys, a.Shown, a.Hint, a.Late, a.Help, why))
		}
	}
	kept(t, "keys", strings.Join(slices.Compact(lines), "\n")+"\n")
}

// A filter by time is evaluated again every second, and every five seconds if there are many
// locks.
func TestAgeFilterIsEvaluatedAgain(t *testing.T) {
	for n, least := range map[int]time.Duration{3: agedFew, screen.AtOnce + 3: agedMany} {
		list := append(fixture.ManyLocks(n), fixture.Orders())
		p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), list), 120, 12)
		show := func() string {
			for _, msg := range p.later {
				p.Screen.Update(msg)
			}
			p.later = nil
			return fmt.Sprint(p.Index.Shown)
		}
		show()
		p.Input().Set("held>13m58s")
		must.Equal(t, show(), "0", n, "at first")
		for after, want := range []string{"0", "1"} {
			p.now = fixture.In(least - 1 + time.Duration(after))
			p.Screen.Update(screen.TickMsg{})
			must.Equal(t, show(), want, n, "after", p.now.Sub(fixture.Noon))
		}
	}
}

// The row under the cursor stays when the filter no longer matches it, drawn like an old one.
func TestAnUnmatchedRowIsDim(t *testing.T) {
	p := open(t, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{fixture.Orders()}), 120, 12)
	p.theme = theme.New(theme.Options{BackgroundKnown: true, Profile: colorprofile.TrueColor})
	p.press("/", "held", "enter", "down")
	free := fixture.Orders()
	free.State, free.Holders, free.Waiters, free.Findings = inspect.StateFree, nil, nil, nil
	p.put(inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{free}), free.ID)
	row := p.cachedRows[free.ID]
	must.True(t, row.inputs.unmatched, "the row counts as a match")
	row.inputs.unmatched = false
	must.True(t, p.drawRow(free, row.inputs, p.grid()) != row.drawn, "it is drawn like a match")
}
