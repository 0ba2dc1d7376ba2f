package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/findings"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func thinVotes() inspect.Finding {
	return inspect.Finding{
		Rule: "thin-margin", Severity: inspect.Warning, Confidence: "certain", Message: "held by 3 of 5: one restart away from a double hold",
		Evidence: map[string]any{"votes": 3, "quorum": 3, "without": []map[string]any{
			{"addr": "10.2.1.4:6379", "says": "absent"}, {"addr": "10.2.1.5:6379", "says": "no answer for 3.2s"},
		}},
		Steps: []inspect.Step{
			fixture.Say("bring these masters back, a restarted one only after the longest TTL, and do not restart another meanwhile"),
		},
	}
}

// allFindings is a snapshot with every kind of finding in it.
func allFindings() *inspect.Snapshot {
	list := fixture.Backends()
	list[1].Findings = []inspect.Finding{fixture.Trouble("eviction-risk", inspect.Warning, "")}
	unhealthy, weak := fixture.Orders(), fixture.Thin()
	unhealthy.Findings, weak.Findings = []inspect.Finding{fixture.Stuck()}, []inspect.Finding{thinVotes(), fixture.Trouble("blind", inspect.Info, "")}
	ring := fixture.Deadlocked("zk:/locks/ring-a", "zk:/locks/ring-b")
	many := fixture.Sick("zk:/locks/many", fixture.Trouble("missing-watch", inspect.Warning, "w-1"), fixture.Trouble("missing-watch", inspect.Warning, "w-2"), fixture.Trouble("missing-watch", inspect.Warning, "w-3"))
	return inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{
		unhealthy, weak, fixture.Sick("zk:/locks/ring-a", ring), fixture.Sick("zk:/locks/ring-b", ring), many, fixture.Hostile(), fixture.FreeLock(),
		fixture.Sick("zk:/locks/more", fixture.Trouble("missing-watch", inspect.Warning, "w-9")),
	})
}

func findingsOf(m *Model) *findings.Screen { return m.screens[screen.Findings].(*findings.Screen) }

// chosenRule is the rule of the finding under the cursor.
func chosenRule(m *Model) string {
	if f := findingsOf(m).Chosen; f != nil {
		return f.Rule
	}
	return ""
}

// withFindings is a model that shows the findings.
func withFindings(t *testing.T, o Options, width, height int, s *inspect.Snapshot) *Model {
	t.Helper()
	m := model(t, o, width, height, s, "f")
	return m
}

// findingRows are the rows of the list: a finding's rule and lock, or a group's rule and size.
func findingRows(m *Model) []string {
	var rows []string
	x := findingsOf(m).Index
	for i := range x.Rows() {
		if g, f := x.Row(i); f != nil {
			rows = append(rows, g.Rule+" "+f.Place())
		} else {
			rows = append(rows, fmt.Sprintf("%s ×%d", g.Rule, len(g.Shown)))
		}
	}
	return rows
}

func TestFindingsAreListed(t *testing.T) {
	m := goTo(model(t, Options{}, 120, 36, allFindings()), screen.Findings, screen.Subject{})
	want := []string{
		"deadlock zk:/locks/ring-a", "eviction-risk redis", "missing-watch ×4", "stuck-holder zk:/locks/orders", "thin-margin redis:lock:cart:42",
		"herd " + fixture.Hostile().ID.String(), "blind redis:lock:cart:42",
	}
	must.Same(t, findingRows(m), want)
	press(m, "j", "j", "enter")
	wantText(t, m, "▾ missing-watch", "4 on 2 locks", "missing-watch of w-9", "zk:/locks/more", "the first of 4 · reported ")
	keysShow(t, m, "j", "contender  w-1")
	press(m, "k", "enter")
	must.Same(t, findingRows(m), want)
}

// A muted finding moves to the end of the list and back; the cursor follows.
func TestMutedFindingsAreLast(t *testing.T) {
	list := make([]*inspect.Lock, 7)
	muted := fixture.Trouble("herd", inspect.Warning, "")
	muted.Muted = &inspect.Muted{Until: fixture.In(time.Hour)}
	for i := range list {
		list[i] = fixture.Sick(fmt.Sprintf("zk:/locks/%d", i), fixture.Trouble("herd", inspect.Warning, ""))
		if i > 3 {
			list[i] = fixture.Sick(fmt.Sprintf("zk:/locks/%d", i), muted)
		}
	}
	m := withFindings(t, Options{}, 120, 36, snapshotOf(list...))
	press(m, "g", "j")
	chosen := findingsOf(m).Selected().Lock
	must.Equal(t, chosen, list[0].ID, "selected")
	put := func(l *inspect.Lock) {
		all := append([]*inspect.Lock{l}, list[1:]...)
		deliver(m, snapshotOf(all...))
	}
	put(fixture.Sick("zk:/locks/0", muted))
	wantText(t, m, "3 warnings · 4 muted")
	rows := findingRows(m)
	must.Same(t, rows[4:6], []string{"herd ×4", "herd zk:/locks/0"}, "rows")
	must.Equal(t, findingsOf(m).Selected().Lock, chosen, "selected once muted")
	put(list[0])
	must.Equal(t, findingRows(m)[0], "herd ×4", "unmuted")
	must.Equal(t, findingsOf(m).Selected().Lock, chosen, "selected once unmuted")
}

// s cycles through the orders of the rules, S reverses one, and the cursor stays with its
// finding.
func TestFindingsAreSorted(t *testing.T) {
	t.Parallel()
	m := withFindings(t, Options{}, 120, 36, allFindings())
	press(m, "g", "j", "j", "j") // stuck-holder
	first := func() string { return strings.Fields(findingRows(m)[0])[0] }
	for _, want := range []struct{ key, order, first string }{
		{"s", "oldest", "deadlock"},
		{"s", "newest", "deadlock"},
		{"s", "most", "missing-watch"},
		{"S", "most, reversed", "deadlock"},
		{"s", "rule", "blind"},
		{"S", "rule, reversed", "thin-margin"},
	} {
		keysShow(t, m, want.key, "sort: "+want.order)
		must.Equal(t, first(), want.first, want.order, "first")
		must.Equal(t, chosenRule(m), "stuck-holder", want.order, "moves the cursor")
		must.Contain(t, splitLines(content(m))[lineOf(m)], "stuck-holder", want.order, "the cursor's line")
		fits(t, m)
	}
	press(m, "/", "!stuck-holder !blind", "enter")
	must.True(t, len(findingRows(m)) >= 4, "too few rows")
	wantNone(t, strings.Join(findingRows(m), "\n"), "stuck-holder", "blind")
	keysHide(t, m, "esc s", "sort:")
	must.Equal(t, first(), "deadlock", "worst first")
}

// The order by age stays correct as findings arrive, and findings of the same age keep their places.
func TestTheOldestFindingsFirst(t *testing.T) {
	late, early := fixture.Orders(), fixture.Readers()
	late.Findings = []inspect.Finding{{Rule: "a-late", Severity: inspect.Warning, Message: "m"}}
	early.Findings = []inspect.Finding{{Rule: "b-early", Severity: inspect.Warning, Message: "m"}}
	m := withFindings(t, Options{}, 120, 36, snapshotOf(early))
	press(m, "s")
	s := inspect.NewSnapshot(fixture.In(time.Minute), fixture.Backends(), []*inspect.Lock{early, late})
	s.Changed = []inspect.ID{late.ID}
	deliver(m, s)
	must.Same(t, findingRows(m), []string{"b-early zk:/locks/billing", "a-late zk:/locks/orders"}, "oldest")
	press(m, "s")
	must.Same(t, findingRows(m), []string{"a-late zk:/locks/orders", "b-early zk:/locks/billing"}, "newest")
}

func TestFindingsOpen(t *testing.T) {
	m := withFindings(t, Options{}, 120, 36, allFindings())
	keysShow(t, m, "g enter", "locks ▸ chain", "zk:/locks/ring-a")
	press(m, "esc")
	must.Equal(t, chosenRule(m), "deadlock", "the cursor moved while hidden")
	press(m, "esc")
	for lock, want := range map[inspect.ID]string{
		fixture.Orders().ID: "stuck-holder", fixture.Id("zk:/locks/ring-b"): "deadlock", fixture.Id("zk:/locks/more"): "missing-watch", fixture.Thin().ID: "thin-margin",
	} {
		m := goTo(model(t, Options{}, 120, 36, allFindings()), screen.Chain, screen.Subject{Lock: lock})
		press(m, "f")
		must.Equal(t, chosenRule(m), want, "from", lock)
		keysShow(t, m, "esc", "locks ▸ chain")
	}
	m = goTo(model(t, Options{}, 120, 36, allFindings()), screen.Findings, screen.Subject{})
	keysShow(t, m, "j enter", "locks ▸ backends", "eviction-risk", "10.2.1.1:6379")
	m = goTo(model(t, Options{}, 120, 36, allFindings()), screen.Findings, screen.Subject{Lock: fixture.Orders().ID})
	must.True(t, m.front().Selected().Owner != inspect.Identity{}, "a finding that names its contender selects none")
}

// An open finding keeps its time and the cursor, whatever else changes.
func TestFindingsKeepTimeAndCursor(t *testing.T) {
	now := fixture.Noon
	m := withFindings(t, Options{Now: func() time.Time { return now }}, 120, 36, allFindings())
	goTo(m, screen.Findings, screen.Subject{Lock: fixture.Orders().ID})
	now = fixture.In(90 * time.Second)
	healed, unhealthy := fixture.Sick("zk:/locks/ring-a"), fixture.Orders()
	unhealthy.Findings = []inspect.Finding{fixture.Trouble("ghost-owner", inspect.Critical, "x"), fixture.Stuck()}
	unhealthy.Findings[1].Message = "another message"
	s := inspect.NewSnapshot(now, fixture.Backends(), []*inspect.Lock{healed, unhealthy, fixture.Sick("zk:/locks/ring-b")})
	s.Changed = []inspect.ID{healed.ID, unhealthy.ID, fixture.Id("zk:/locks/ring-b"), fixture.Id("zk:/locks/many"), fixture.Id("zk:/locks/more"), fixture.Hostile().ID, fixture.Thin().ID}
	for _, b := range s.Backends {
		b.FirstPass = true
	}
	deliver(m, s)
	must.Same(t, findingRows(m), []string{"ghost-owner zk:/locks/orders", "stuck-holder zk:/locks/orders"})
	wantText(t, m, "✖ 1 critical · ▲ 1 warning", "another message", "reported 1m30s ago")
	keysShow(t, m, "k", "reported 0s ago")
}

// A deadlock stays on its other locks when its first lock is freed first.
func TestRingLosesItsFirstLock(t *testing.T) {
	m := withFindings(t, Options{}, 120, 36, allFindings())
	s := allFindings()
	healed := fixture.Sick("zk:/locks/ring-a")
	locks := slices.DeleteFunc(slices.Collect(s.Locks()), func(l *inspect.Lock) bool { return l.ID == healed.ID })
	s = inspect.NewSnapshot(fixture.Noon, s.Backends, append(locks, healed))
	s.Changed = []inspect.ID{healed.ID}
	deliver(m, s)
	must.Equal(t, findingRows(m)[0], "deadlock zk:/locks/ring-b", "first row")
}

func TestFindingsFilter(t *testing.T) {
	for filter, want := range map[string][]string{
		"stuck":           {"stuck-holder zk:/locks/orders"},
		"ring-b":          {"deadlock zk:/locks/ring-a"},
		"missing w-9":     {"missing-watch zk:/locks/more"},
		"missing many":    {"missing-watch ×3"},
		"critical":        {"deadlock zk:/locks/ring-a"},
		"warning !locks/": {"eviction-risk redis", "thin-margin redis:lock:cart:42"},
		"nonesuch":        nil,
	} {
		m := withFindings(t, Options{}, 120, 36, allFindings())
		press(m, "/", filter, "enter")
		must.Same(t, findingRows(m), want, filter)
		fits(t, m)
		if want == nil {
			wantText(t, m, "No finding matches the filter.", "1 critical")
		}
		press(m, "esc")
		must.Equal(t, len(findingRows(m)), 7, "after", filter, "rows")
	}
}

func TestEmptyFindingsSayWhy(t *testing.T) {
	well := func(list []*inspect.Backend) *inspect.Snapshot {
		return inspect.NewSnapshot(fixture.Noon, list, []*inspect.Lock{fixture.FreeLock(), fixture.Readers()})
	}
	m := withFindings(t, Options{}, 80, 24, well(fixture.Backends()[:1]))
	wantText(t, m, "no findings · 2 locks", "Nothing wrong that we can see.")
	wantNoText(t, m, "not all could", "cannot see")
	keysShow(t, m, "enter j G tab y / x enter", "Nothing wrong that we can see.")
	m = withFindings(t, Options{}, 80, 24, well(fixture.Backends()))
	wantText(t, m, "? partial view", "What we cannot see:", "redis is degraded", "10.2.1.5:6379: no answer")
	busy := fixture.Backends()[:1]
	busy[0].FirstPass = false
	wantText(t, withFindings(t, Options{}, 80, 24, well(busy)), "still scanning, 214 so far", "Still scanning: 214")
	m = model(t, Options{}, 80, 24, nil)
	keysShow(t, m, "f", "Nothing is known yet.")
	wantNoText(t, m, "nothing wrong")
}

func TestFindingDetailsScroll(t *testing.T) {
	m := withFindings(t, Options{}, 80, 24, allFindings())
	goTo(m, screen.Findings, screen.Subject{Lock: fixture.Orders().ID})
	wantText(t, m, "more lines, tab", "do   see what worker-3 is doing")
	wantNoText(t, m, "waiters")
	keysShow(t, m, "tab", "tab: to the list")
	press(m, "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j", "j")
	wantText(t, m, "waiters", `evil\u{1b}]52;c;AAAA\u{7}\u{202e}`, "hold p99", "21s", "13m58s ago (11:46:02)")
	must.Equal(t, chosenRule(m), "stuck-holder", "the list moved")
	keysShow(t, m, "tab j", "thin-margin", "10.2.1.4:6379 absent")
}

func TestFindingsMouse(t *testing.T) {
	m := withFindings(t, Options{}, 160, 40, allFindings())
	top := len(frame{m}.head()) + 2
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: top + 3})
	must.Equal(t, chosenRule(m), "stuck-holder", "clicked")
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: 120, Y: top + 3}, tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	must.Equal(t, chosenRule(m), "stuck-holder", "the wheel in the details moved the list")
	send(m, tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: top + 4}, tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: top + 4})
	wantText(t, m, "locks ▸ chain")
}

func TestCopyTheAdvice(t *testing.T) {
	m := withFindings(t, Options{}, 120, 36, allFindings())
	press(m, "g", "y")
	wantText(t, m, "command", "lockscope release zk:/locks/ring-a --owner _c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602", "message")
	must.Contain(t, fmt.Sprint(press(m, "enter")()), "lockscope release zk:/locks/ring-a --owner", "copied")
}

// manyFindings is a snapshot of n locks, each with a finding.
func manyFindings(n int) *inspect.Snapshot {
	locks := make([]*inspect.Lock, n)
	for i := range locks {
		locks[i] = fixture.Sick(fmt.Sprintf("zk:/locks/%06d", i), fixture.Trouble("missing-watch", inspect.Warning, "w"))
	}
	return snapshotOf(locks...)
}

func TestOpenedGroupListsEveryFinding(t *testing.T) {
	m := goTo(model(t, Options{}, 120, 36, manyFindings(2000)), screen.Findings, screen.Subject{})
	wantText(t, m, "▲ 2000 warnings", "missing-watch", "on 2,000 locks", "on 2,000 locks")
	keysShow(t, m, "enter G", "/locks/001999")
}

// If there are many findings, a filter runs in a command, and only the newest result counts.
func TestFilterOfManyFindings(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, manyFindings(2000), "f", "enter", "/")
	first := press(m, "1")
	second := press(m, "2")
	wantText(t, m, "on 2,000 locks") // until the answer arrives
	stale, newest := answers(first), answers(second)
	send(m, newest...)
	wantText(t, m, "on 139 locks", "/locks/000012")
	send(m, stale...)
	wantText(t, m, "on 139 locks")
	gone, put := fixture.Id("zk:/locks/000012"), fixture.Sick("zk:/locks/777712", fixture.Trouble("missing-watch", inspect.Warning, "w"))
	third := press(m, "7")
	locks := slices.DeleteFunc(slices.Collect(m.snapshot.Locks()), func(l *inspect.Lock) bool { return l.ID == gone })
	s := snapshotOf(append(locks, put)...)
	s.Changed = []inspect.ID{gone, put.ID}
	deliver(m, s) // during the search
	send(m, answers(third)...)
	wantText(t, m, "/locks/000127", "/locks/001127", "/locks/001270")
	wantNoText(t, m, "777712", "000012")
	fourth := press(m, "backspace")
	keysShow(t, m, "esc", "on 2,000 locks") // everything is shown at once
	send(m, answers(fourth)...)
	wantText(t, m, "on 2,000 locks")
}

// The details show the age of a hold as its row does, with its bound, and only once.
func TestHoldAgeIsShownOnce(t *testing.T) {
	f := fixture.Stuck()
	delete(f.Evidence, "held_since")
	f.Evidence["known"], f.Evidence["held_over"] = "at-least", "2m"
	l := fixture.Sick("zk:/locks/orders", f)
	h := &l.Holders[0]
	h.Since, h.HeldSince, h.Seen = fixture.Ago(8*time.Minute+36*time.Second), time.Time{}, fixture.Ago(3*time.Minute)
	m := withFindings(t, Options{}, 120, 40, snapshotOf(l))
	wantText(t, m, "held       for up to 8m36s (acquired between 11:51:24 and 11:57:00)")
	wantNoText(t, m, "hold age", "held over", "entered")
}

// Lines below the list and below the message stay in place while those are shorter for a moment.
func TestFindingDetailsStayInPlace(t *testing.T) {
	now := fixture.Noon
	m := model(t, Options{Now: func() time.Time { return now }}, 80, 30, nil)
	long, short := fixture.Stuck(), fixture.Stuck()
	short.Message = "short"
	show := func(after time.Duration, list ...inspect.Finding) int {
		now = now.Add(after)
		l := fixture.Sick("zk:/locks/orders", list...)
		s := inspect.NewSnapshot(now, fixture.Backends(), []*inspect.Lock{l})
		s.Changed = []inspect.ID{l.ID}
		send(m, snapshotArrivedMsg{snapshot: s}, tickedMsg{m.ticking})
		return lineAt(m, "do   see")
	}
	press(m, "f")
	at := show(0, long, fixture.Trouble("herd", inspect.Info, "x"))
	must.Equal(t, show(time.Second, short), at, "shorter")
	must.True(t, show(time.Minute, short) < at, "for long")
}

// A lock's name is shown in full if the messages have enough room.
func TestFindingsNameLocksInFull(t *testing.T) {
	l := fixture.Sick("zk:/locks/billing/eu-west-1", fixture.Trouble("herd", inspect.Warning, ""))
	m := withFindings(t, Options{}, 120, 36, snapshotOf(l))
	must.True(t, strings.Count(content(m), "zk:/locks/billing/eu-west-1") > 1, "not in its row:\n", content(m))
}
