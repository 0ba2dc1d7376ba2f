package tui

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

// evil is server text that would control a terminal or break cell counting.
const evil = "e\x1b]52;c;AAAA\a\x1b[2J\u202e\r\n\t\u200b\xff\\u{1b} 漢字\u0301👩‍👩‍👧 %d"

// monkey presses, clicks, resizes and pastes at random while locks come and go.
type monkey struct {
	*testing.T
	*rand.Rand
	m       *Model
	now     time.Time
	answers chan tea.Msg
	last    string
	lines   map[string]int // widths of lines already checked
}

func newMonkey(t *testing.T, seed uint64, o Options) *monkey {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	k := &monkey{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), now: fixture.Noon, answers: make(chan tea.Msg, 100_000), lines: make(map[string]int)}
	o.Now = func() time.Time { return k.now }
	k.m = New(ctx, plain(o))
	t.Cleanup(func() {
		cancel()
		k.m.alive.Lock() // no command is running
	})
	return k
}

func (k *monkey) one(of ...string) string { return of[k.IntN(len(of))] }

func (k *monkey) key() tea.KeyPressMsg {
	switch k.IntN(8) {
	case 0:
		return keyPress(k.one("enter", "esc", "tab", "space", "backspace"))
	case 1:
		return tea.KeyPressMsg{Code: []rune{tea.KeyLeft, tea.KeyRight, tea.KeyHome, tea.KeyEnd, 0, tea.KeyF5, tea.KeyPgUp, tea.KeyPgDown}[k.IntN(8)]}
	case 2, 3:
		return keyPress(k.one("up", "down", "pgdown", "pgup", "j", "k", "g", "G"))
	case 4, 5:
		return keyPress(k.one("t", "c", "b", "f", "e", "L", "?", ":", "/"))
	case 6:
		return keyPress(k.one("x", "a", "r", "n", "!", ".", "w", "i", "+", "-", "y", "o", "p", "s", "S", "T", "0", "1", "9", "é", "漢"))
	default:
		return keyPress(string(rune(' ' + k.IntN('~'-' '))))
	}
}

func (k *monkey) lock() *inspect.Lock {
	all := []func() *inspect.Lock{
		fixture.Orders, fixture.Readers, fixture.FreeLock, fixture.Thin, fixture.Split, fixture.Minority, fixture.UnknownLock, fixture.Hostile,
		func() *inspect.Lock { return library(1 + k.IntN(20)) },
		func() *inspect.Lock { return &inspect.Lock{ID: fixture.Id("zk:/locks/bare")} },
		func() *inspect.Lock { return &inspect.Lock{ID: fixture.Id("nobody:/x"), State: inspect.StateHeld} },
	}
	l := *all[k.IntN(len(all))]()
	for _, list := range []*[]inspect.Contender{&l.Holders, &l.Waiters} {
		*list = slices.Clone(*list)
		for i := range *list {
			c := &(*list)[i]
			if k.IntN(4) == 0 {
				c.Owner.Label, c.Owner.Process = evil, inspect.Process{Host: evil, PID: evil, Thread: evil, LibraryID: evil}
			}
			if k.IntN(6) == 0 {
				c.Name, c.Owner.Client, c.Owner.Server = evil, evil, evil
			}
			if k.IntN(6) == 0 {
				c.Since, c.HeldSince, c.Dead = time.Time{}, k.now.Add(time.Hour), true
			}
			if k.IntN(6) == 0 {
				c.Sequence, c.Owner.Session = -1<<31+int32(i), -1
			}
		}
	}
	if k.IntN(4) == 0 {
		l.Holders = nil
	}
	if k.IntN(4) == 0 {
		l.Waiters = nil
	}
	if k.IntN(3) == 0 {
		l.Findings = append(slices.Clone(l.Findings), inspect.Finding{
			Rule: "stuck-holder", Severity: inspect.Critical, Message: evil,
			Steps:    []inspect.Step{{Verb: inspect.Verb(evil), Owner: inspect.Untrusted(evil), Why: evil, Command: evil}},
			Evidence: map[string]any{"contender": evil, "n": 1.5, "list": []any{evil, nil}, "locks": []string{evil, "zk:/a"}, evil: evil},
		})
	}
	return &l
}

func (k *monkey) snapshot() *inspect.Snapshot {
	byID := make(map[inspect.ID]*inspect.Lock)
	for range k.IntN(10) {
		l := k.lock()
		byID[l.ID] = l
	}
	var list []*inspect.Lock
	for _, l := range byID {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *inspect.Lock) int { return a.ID.Compare(b.ID) })
	places := fixture.Backends()
	if k.IntN(5) == 0 {
		places = nil
	}
	for _, b := range places {
		if k.IntN(4) == 0 {
			b.State, b.Error = inspect.Down, evil+"\n"+evil
			b.Servers[0].Error, b.Servers[0].Version, b.Servers[0].Role = evil, evil, evil
		}
	}
	s := inspect.NewSnapshot(k.now, places, list)
	for range k.IntN(6) {
		l := k.lock()
		e := inspect.Event{Kind: inspect.EventKind(k.one("appeared", "gone", "waiting", "acquired", "handover", "released", "expired", "ended", "forced")), At: k.now, Lock: l.ID}
		if list := lab.ContendersOf(l); len(list) > 0 {
			e.Contender = list[k.IntN(len(list))]
		} else if e.Kind != inspect.EventAppeared {
			e.Kind = inspect.EventGone
		}
		s.Events = append(s.Events, e)
		s.Changed = append(s.Changed, l.ID)
	}
	return s
}

// act does something at random, and delivers the results of earlier commands.
func (k *monkey) act() {
	var msg tea.Msg
	switch k.IntN(12) {
	case 0:
		msg = snapshotArrivedMsg{snapshot: k.snapshot()}
	case 1:
		msg = tea.WindowSizeMsg{Width: []int{0, 1, 79, 80, 81, 120, 160, 200, 300}[k.IntN(9)], Height: []int{0, 1, 23, 24, 25, 36, 50, 100}[k.IntN(8)]}
	case 2:
		msg = tea.PasteMsg{Content: evil}
	case 3:
		mouse := tea.Mouse{X: k.IntN(310) - 5, Y: k.IntN(110) - 5, Button: []tea.MouseButton{tea.MouseLeft, tea.MouseWheelUp, tea.MouseWheelDown, tea.MouseRight}[k.IntN(4)]}
		if msg = tea.MouseClickMsg(mouse); k.IntN(2) == 0 {
			msg = tea.MouseWheelMsg(mouse)
		}
	case 4:
		k.now = k.now.Add(time.Duration(k.IntN(3000)) * time.Millisecond)
		msg = tickedMsg{k.m.ticking}
	default:
		msg = k.key()
	}
	k.receive(msg)
	for {
		select {
		case msg := <-k.answers:
			k.receive(msg)
			continue
		default:
		}
		return
	}
}

func (k *monkey) receive(msg tea.Msg) {
	k.last = fmt.Sprintf("%T %v", msg, msg)
	_, cmd := k.m.Update(msg)
	k.start(cmd)
}

func (k *monkey) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil, tea.QuitMsg, tickedMsg:
		case tea.BatchMsg:
			for _, c := range msg {
				k.start(c)
			}
		default:
			k.answers <- msg
		}
	}()
}

var styling = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// look draws the window, and checks that no line is too wide or controls the terminal.
func (k *monkey) look() {
	k.Helper()
	v := k.m.View()
	lines := strings.Split(v.Content, "\n")
	if !k.m.small() && len(lines) != k.m.height {
		k.Errorf("%d lines", len(lines))
	}
	k.inspect(v.WindowTitle)
	for _, l := range lines {
		if w := k.inspect(l); w > k.m.width && !k.m.small() {
			k.Errorf("%d cells: %q", w, l)
		}
	}
	if k.Failed() {
		k.Fatalf("after %s on %s in %dx%d", k.last, k.m.inFront, k.m.width, k.m.height)
	}
}

// inspect measures a line and looks for control characters, once per text, since most lines repeat.
func (k *monkey) inspect(drawn string) int {
	if w, ok := k.lines[drawn]; ok {
		return w
	}
	text := styling.ReplaceAllString(drawn, "")
	for _, r := range text {
		if r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b {
			k.Errorf("%q reached the terminal: %q", r, drawn)
			break
		}
	}
	k.lines[drawn] = ansi.StringWidth(text)
	return k.lines[drawn]
}

func TestRandomInputIsHarmless(t *testing.T) {
	servertest.Slow(t)
	steps := servertest.Effort(t, 100, 400)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := Options{Title: evil, Theme: theme.Options{NoColor: true, ASCII: seed%2 == 0}}
			releaser := newFakeReleaser()
			if seed%4 < 3 {
				lab := newFakeLab()
				lab.held.deadline = fixture.In(time.Hour)
				o.Lab, o.Faults = lab, &fakeFaults{err: errors.New(evil)}
				releaser.preview.Sends = []string{inspect.Escape(evil)}
				releaser.result.Masters = []act.MasterResult{{Addr: evil, Err: errors.New(evil)}}
				o.Release = releaser.of
			}
			if seed%3 == 0 {
				o.Scenes = []Scene{{Title: "one", Text: "text", Lock: fixture.Orders().ID}, {Title: "two", Lock: fixture.Hostile().ID}}
			}
			k := newMonkey(t, seed, o)
			for range steps {
				k.act()
				k.look()
			}
		})
	}
}

// fingerprint hashes everything reachable from a value, except shared immutable values such as
// snapshots, and functions and channels.
func fingerprint(v any) uint64 {
	h := fnv.New64a()
	seen := make(map[uintptr]bool)
	walkValue(h, reflect.ValueOf(v), seen)
	return h.Sum64()
}

func walkValue(h io.Writer, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*inspect.Snapshot]() || strings.HasPrefix(v.Type().Elem().PkgPath(), "sync") {
			fmt.Fprint(h, v.Pointer())
			return
		}
		if seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		walkValue(h, v.Elem(), seen)
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if p := v.Elem().Type(); strings.Contains(p.String(), "context.") {
			return
		}
		fmt.Fprint(h, v.Elem().Type())
		walkValue(h, v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprint(h, v.Type().Field(i).Name)
			walkValue(h, v.Field(i), seen)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(h, v.Len())
		for i := range v.Len() {
			walkValue(h, v.Index(i), seen)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			fmt.Fprint(h, key)
			walkValue(h, v.MapIndex(key), seen)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		fmt.Fprint(h, v)
	}
}

// Drawing changes no state. The layout is made on events, so that a click hits what was drawn.
func TestViewChangesNothing(t *testing.T) {
	f := newFakeReleaser()
	for _, e := range screenList() {
		for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}} {
			t.Run(fmt.Sprintf("%s %dx%d", e.name, size.width, size.height), func(t *testing.T) {
				m := model(t, Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}}, size.width, size.height, fixture.Everything())
				goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
				for _, keys := range [][]string{nil, {"j"}, {"G"}, {"?"}, {"esc"}, {":"}, {"esc"}} {
					press(m, keys...)
					m.showLosses()
					before := fingerprint(m)
					first := m.View().Content
					must.Equal(t, fingerprint(m), before, "after", keys, "drawing changes the model")
					must.Equal(t, m.View().Content, first, "after", keys, "the second drawing differs")
				}
			})
		}
	}
}

// A reopened screen looks as if it had been in front all the time.
func TestHiddenScreensStayCurrent(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	for _, e := range screenList() {
		t.Run(string(e.name), func(t *testing.T) {
			now := fixture.Ago(time.Minute)
			o := Options{Release: f.of, Lab: newFakeLab(), Faults: &fakeFaults{}, Now: func() time.Time { return now }}
			shown, hidden := model(t, o, 120, 36, fixture.Everything()), model(t, o, 120, 36, fixture.Everything())
			holder, _ := fixture.Orders().Holders[0].Identity("zk")
			about := screen.Subject{Lock: fixture.Orders().ID, Owner: holder}
			open := func(m *Model, to screen.Name) {
				m.Go(to, about)
				settle(t, m, send(m, nil))
			}
			open(shown, e.name)
			other := screen.Backends
			if e.name == other {
				other = screen.Chain
			}
			open(hidden, other)
			for step := range 5 {
				now = now.Add(10 * time.Second)
				list := []*inspect.Lock{fixture.Orders(), fixture.Readers(), fixture.FreeLock(), fixture.Minority(), fixture.UnknownLock(), fixture.Hostile()}
				new := fixture.Sick("zk:/locks/new", fixture.Trouble("herd", inspect.Warning, ""))
				if step > 1 {
					list = append(list, new)
				}
				s := inspect.NewSnapshot(now, fixture.Backends(), list)
				s.Changed = []inspect.ID{fixture.Thin().ID, fixture.Split().ID, new.ID}
				if step == 2 {
					s.Events = []inspect.Event{
						{Kind: inspect.EventAppeared, At: now, Lock: new.ID},
						{Kind: inspect.EventFinding, At: now, Lock: new.ID, Finding: &new.Findings[0]},
					}
				}
				for _, m := range []*Model{shown, hidden} {
					settle(t, m, send(m, snapshotArrivedMsg{snapshot: s}))
				}
			}
			open(hidden, e.name)
			if e.name == screen.Clients { // their list is made at its own pace
				makeClients(shown)
				makeClients(hidden)
			}
			sorted := regexp.MustCompile(`sorted [0-9:]+`) // one of them was opened again
			view := func(m *Model) string { return sorted.ReplaceAllString(m.front().View(), "") }
			must.NoDiff(t, cmp.Diff(view(shown), view(hidden)))
		})
	}
}
