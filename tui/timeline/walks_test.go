package timeline

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lanes"
	"github.com/lockscope/lockscope/tui/screen"
)

var update = flag.Bool("update", false, "write the golden files")

func init() { time.Local = time.UTC } // pages have times of day, which are local

// A walk in testdata/walks.txt tells the past of a lock, and what a user does and sees. README.md
// explains its words.
func TestWalks(t *testing.T) {
	walks := strings.Split(string(must.Have(os.ReadFile("testdata/walks.txt"))(t)), "\n# ")
	for _, text := range walks[1:] {
		name, steps, _ := strings.Cut(text, "\n")
		t.Run(name, func(t *testing.T) {
			w := &walk{t: t, now: fixture.Ago(watched)}
			w.Screen = New(w).(*Screen)
			w.width, w.height = 120, 36
			w.look()
			for step := range strings.Lines(steps) {
				verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
				w.take(verb, strings.TrimSpace(rest))
			}
		})
	}
}

// walk is the timeline alone, without the rest of the program.
type walk struct {
	screen.Context // nil: the timeline needs only the methods below
	*Screen
	t        *testing.T
	now      time.Time
	attempts []attempt

	snapshot   *inspect.Snapshot
	log        *screen.EventLog
	said, went string
}

func (w *walk) Snapshot() *inspect.Snapshot { return w.snapshot }
func (w *walk) Theme() *theme.Theme         { return theme.New(theme.Options{ASCII: true, NoColor: true}) }
func (w *walk) Now() time.Time              { return w.now }
func (w *walk) Live() bool                  { return true }
func (w *walk) Past() bool                  { return false }
func (w *walk) Log() *screen.EventLog       { return w.log }
func (w *walk) Flash(text string)           { w.said = text }
func (w *walk) Back()                       { w.went = "back" }

func (w *walk) Go(to screen.Name, about screen.Subject) {
	w.went = fmt.Sprint(to, " ", about.Lock)
	for _, a := range w.attempts {
		if who, _ := a.Identity(about.Lock.Backend); who == about.Owner {
			w.went += fmt.Sprint(" ", a.Owner.Label)
		}
	}
}

// take does one step.
func (w *walk) take(verb, rest string) {
	w.t.Helper()
	switch verb {
	case "":
	case "client":
		w.attempts = append(w.attempts, w.attempt(strings.Fields(rest)))
	case "now":
		w.now = w.before(rest)
	case "open":
		w.Open(screen.Place{Subject: screen.Subject{Lock: fixture.Id(rest)}}, screen.SnapshotMsg{})
	case "size":
		fmt.Sscanf(rest, "%dx%d", &w.width, &w.height)
	case "press":
		w.said = ""
		for key := range strings.FieldsSeq(rest) {
			_, ok := screen.Press(w, w.Actions(), key)
			must.True(w.t, ok, "no action has the key", key)
		}
	case "click":
		above, _, _ := strings.Cut(w.page(), rest)
		w.Update(tea.MouseClickMsg{Y: strings.Count(above, "\n")})
	case "wheel":
		w.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	case "shows":
		must.Contain(w.t, w.page(), rest)
	case "hides":
		must.True(w.t, !strings.Contains(w.page(), rest), rest, "is in\n", w.page())
	case "says":
		must.Equal(w.t, w.said, rest, "flashed")
	case "ticks":
		must.Equal(w.t, w.NeedsFastTick(), rest == "fast", "ticks fast")
	case "goes":
		must.Equal(w.t, w.went, rest, "went")
	case "page":
		w.golden(rest, w.page())
	case "keys":
		w.golden(rest, w.keys())
	default:
		w.t.Fatal("unknown step", verb)
	}
	w.look()
}

// watched is the time from the start of a walk to noon.
const watched = 2 * time.Minute

// look draws the present.
func (w *walk) look() {
	l := &inspect.Lock{
		ID: fixture.Id("zk:/locks/fair"), Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain,
		State: inspect.StateFree, ReadAt: w.now,
	}
	w.log = &screen.EventLog{}
	var waits, holds []time.Duration
	for _, a := range w.attempts {
		c := a.at(w.now)
		switch holding := c.State == inspect.Holding; {
		case a.came.After(w.now):
		case !a.end.IsZero() && !a.end.After(w.now):
			w.log.Add([]inspect.Event{{Kind: a.how, At: a.end, Lock: l.ID, Contender: c}})
			if !c.HeldSince.IsZero() {
				holds = append(holds, a.end.Sub(a.got))
			}
		case holding:
			l.State, l.Holders = inspect.StateHeld, append(l.Holders, *c)
		default:
			l.State, l.Waiters = inspect.StateContended, append(l.Waiters, *c)
		}
		if !c.HeldSince.IsZero() {
			waits = append(waits, a.got.Sub(a.came))
		}
	}
	if len(waits) > 0 {
		h := inspect.History{Since: fixture.Ago(watched), Grants: len(waits), Waits: spansOf(waits), Holds: spansOf(holds)}
		l.Observed.History = &h
	}
	w.snapshot = fixture.Everything().With(l)
	w.SetSize(w.width, w.height)
}

func spansOf(list []time.Duration) inspect.Spans {
	slices.Sort(list)
	p := func(percent int) time.Duration { return lanes.Percentile(list, percent) }
	return inspect.Spans{Count: len(list), P50: p(50), P99: p(99), Max: p(100)}
}

// attempt is a client's time with the lock. unseen means that its grant was not seen.
type attempt struct {
	inspect.Contender
	came, got, end time.Time
	unseen         bool
	how            inspect.EventKind
}

// attempt reads words such as ann came 150 got 120 released 90. The last letter is the session.
func (w *walk) attempt(words []string) attempt {
	a := attempt{Contender: fixture.Znode(int32(100+len(w.attempts)), words[0], 0, nil, 0)}
	a.Owner.Session = int64(words[0][len(words[0])-1])
	for pair := range slices.Chunk(words[1:], 2) {
		switch at := w.before(pair[1]); pair[0] {
		case "held":
			a.came, a.got, a.unseen = at, at, true
		case "came":
			a.came = at
		case "got":
			a.got = at
		default:
			a.end, a.how = at, inspect.EventKind(pair[0])
		}
	}
	return a
}

// at is the contender at a moment.
func (a *attempt) at(now time.Time) *inspect.Contender {
	c := a.Contender
	c.Since, c.State = a.came, inspect.Waiting
	if !a.got.IsZero() && !a.got.After(now) {
		c.State = inspect.Holding
		if !a.unseen {
			c.HeldSince = a.got
		}
	}
	return &c
}

// before is a number of seconds before noon.
func (w *walk) before(seconds string) time.Time {
	return fixture.Ago(must.Have(time.ParseDuration(seconds + "s"))(w.t))
}

// page is what the screen shows, without trailing blanks.
func (w *walk) page() string {
	lines := strings.Split(ansi.Strip(w.View()), "\n")
	must.Equal(w.t, len(lines), max(1, w.height), "lines in a window of")
	for i, l := range lines {
		must.True(w.t, ansi.StringWidth(l) <= w.width, "line", i, "is too wide for", w.width, l)
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// keys lists the actions.
func (w *walk) keys() string {
	text := fmt.Sprintf("The %s of %v:\n", w.Title(), w.Focus())
	for _, a := range w.Actions() {
		text += fmt.Sprintf("%v | %s | %s | %s | late: %v | %s\n", a.Keys, a.Shown, a.Hint, a.Help, a.Late, a.Why())
	}
	return text
}

func (w *walk) golden(name, got string) {
	w.t.Helper()
	path := "testdata/" + name + ".golden"
	if *update {
		must.Succeed(w.t, os.WriteFile(path, []byte(got), 0o644))
	}
	must.NoDiff(w.t, cmp.Diff(string(must.Have(os.ReadFile(path))(w.t)), got), path, "(-update accepts it)")
}
