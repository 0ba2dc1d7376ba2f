package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/release"
)

// fakeReleaser answers as the test asks, and counts the releases.
type fakeReleaser struct {
	mu       sync.Mutex
	preview  act.Preview
	result   act.Result
	err      error
	requests []act.Request
	executed int
}

func (f *fakeReleaser) Preview(_ context.Context, r act.Request) (act.Preview, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	p := f.preview
	p.Request = r
	return p, f.err
}

func (f *fakeReleaser) Execute(context.Context, act.Preview, string) (act.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.executed++
	return f.result, f.err
}

func (f *fakeReleaser) executions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.executed
}

// only returns the request, of which there must be one.
func (f *fakeReleaser) only(t *testing.T) act.Request {
	t.Helper()
	if len(f.requests) != 1 {
		t.Fatalf("requests %+v", f.requests)
	}
	return f.requests[0]
}

// newFakeReleaser previews and executes the release of fixture.Orders.
func newFakeReleaser() *fakeReleaser {
	l := fixture.Orders()
	seen, next := l.Holders[0], l.Waiters[0]
	after := next
	after.State = inspect.Holding
	return &fakeReleaser{
		preview: act.Preview{
			Seen: &seen, Next: &next, Sends: []string{"delete /locks/orders/_c_7f3e version 0"},
			Warnings: []string{"worker-3 is not stopped: without a fencing token two may run."},
		},
		result: act.Result{Released: true, Seen: &seen, HoldersAfter: []inspect.Contender{after}},
	}
}

func (f *fakeReleaser) of(string) (act.Releaser, bool) { return f, true }

// run runs a dialog's command, and sends its answer to the model.
func run(t *testing.T, m *Model, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		t.Fatal("no command")
	}
	send(m, cmd())
}

// inReleaseDialog is a model with the release dialog open and its preview shown.
func inReleaseDialog(t *testing.T, f *fakeReleaser) *Model {
	t.Helper()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	keysRun(t, m, "x", "Force-release  zk:/locks/orders", "Held by  ● worker-3")
	return m
}

// The release of another client's lock takes time, so the dialog stays until its result was seen.
func TestReleaseRunsOutsideUpdate(t *testing.T) {
	f := newFakeReleaser()
	m := inReleaseDialog(t, f)
	must.Equal(t, f.only(t).ID, fixture.Orders().ID)
	must.Equal(t, f.only(t).Owner, fixture.Orders().Holders[0].Name)
	must.True(t, !f.only(t).Waiter, "asked for a waiter")
	keysShow(t, m, "/locks/orders", "press Enter twice")
	cmd := press(m, "tab", "enter")
	must.Equal(t, f.executions(), 0, "executed inside Update")
	wantText(t, m, "Releasing")
	press(m, "esc")
	must.True(t, m.HasDialog(), "the dialog can be closed before its result is seen")
	run(t, m, cmd)
	wantText(t, m, "Released: worker-3 no longer has it", "Now      ● worker-7")
	receives(t, m, snapshotArrivedMsg{snapshot: fixture.Everything()}, "Released: worker-3")
	keysHide(t, m, "enter", "Released")
}

// A user who forces out an active leader types two words instead of the path.
func TestTwoLeadersAreConfirmedInWords(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	f.preview.TwoLeaders, f.preview.Warnings = true, []string{"two would lead: restart it instead"}
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	keysRun(t, m, "x", "Two would lead: restart it instead", "Type the words two leaders to confirm")
	must.True(t, f.requests[0].TwoLeaders, "the preview would be refused")
	must.True(t, press(m, "/locks/orders", "tab", "enter") == nil, "the path was accepted as consent")
	press(m, "esc")
	run(t, m, press(m, "x"))
	run(t, m, press(m, "two leaders", "tab", "enter"))
	wantText(t, m, "Released: worker-3 no longer has it")
}

// A wrong path is reported, and nothing is sent.
func TestWrongPathIsReported(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/locks/order", "/locks/orders2", "other:/locks/orders", "zk:", "zk:zk:/locks/orders"} {
		f := newFakeReleaser()
		m := inReleaseDialog(t, f)
		must.True(t, press(m, path, "tab", "enter") == nil, path, "started a command")
		must.Equal(t, f.executions(), 0, path)
		wantText(t, m, "path does not match")
	}
}

// The path may include the backend, as the screens show it. The first enter only goes to Release.
func TestPathWithBackendIsAccepted(t *testing.T) {
	m := inReleaseDialog(t, newFakeReleaser())
	keysShow(t, m, "zk:/locks/orders", "press Enter twice")
	must.True(t, press(m, "enter") == nil, "the first enter released")
	wantText(t, m, "press Enter again to release", "enter RELEASE")
	keysRun(t, m, "enter", "Released: worker-3")
}

// Each of these key sequences must send nothing and close the dialog.
func TestCancelIsDefault(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"enter alone":           {"enter", "esc"},
		"esc":                   {"esc"},
		"tab without the path":  {"tab", "enter"},
		"path, then enter":      {"/locks/orders", "enter", "esc"},
		"path, tab twice":       {"/locks/orders", "tab", "tab", "enter"},
		"edited after choosing": {"/locks/orders", "tab", "x", "esc"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeReleaser()
			m := inReleaseDialog(t, f)
			for _, k := range keys {
				must.True(t, press(m, k) == nil, k, "started a command")
			}
			must.True(t, !m.HasDialog(), "still open")
			must.Equal(t, f.executions(), 0, "executed")
		})
	}
}

func TestPasteDoesNothing(t *testing.T) {
	m := inReleaseDialog(t, newFakeReleaser())
	receives(t, m, tea.PasteMsg{Content: "/locks/orders"}, "pasting is off here")
	must.True(t, press(m, "tab", "enter") == nil, "a paste confirmed")
}

func TestEscapedPathIsAccepted(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Hostile().ID)
	run(t, m, press(m, "x"))
	cmd := press(m, `/locks/\u{1b}[31mred\u{202e}\u{d}\u{200b}\xff`, "tab", "enter")
	must.True(t, cmd != nil, "the path as it is printed was not accepted")
}

func TestReadOnlyBindsNothing(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	wantText(t, m, "READ-ONLY")
	wantNoText(t, m, "force-release")
	refuses(t, m, "x")
	wantText(t, m, "read-only: start with --write")
	for _, a := range m.front().Actions() {
		must.True(t, !a.Writes, a.Shown, "is bound")
	}
}

func TestStaleAnswersAreDropped(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	first := press(m, "x")
	press(m, "esc")
	send(m, first()) // a late answer
	must.True(t, !m.HasDialog(), "the dialog reappeared")
	press(m, "x")
	receives(t, m, first(), "Reading it again")
	send(m, release.ReleaseExecutedMsg{Generation: m.number, Result: act.Result{Released: true}})
	wantNoText(t, m, "Released")
}

func TestHolderChangedMeanwhile(t *testing.T) {
	f := newFakeReleaser()
	f.result = act.Result{Reason: act.Changed}
	m := inReleaseDialog(t, f)
	l := fixture.Orders()
	l.Holders = []inspect.Contender{fixture.Znode(700, "worker-9", time.Second, nil, 0)}
	l.Waiters = nil
	receives(t, m, snapshotArrivedMsg{snapshot: snapshotOf(l)}, "It has changed since")
	keysRun(t, m, "/locks/orders tab enter", "Not released (changed)", "it has changed", "Now      ● worker-9")
}

// A small window shows the conditions of each request, and the last one whole.
func TestSmallWindowsShowConditions(t *testing.T) {
	f := newFakeReleaser()
	node := "/locks/orders/_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602"
	f.preview.Sends = []string{
		"sync " + node, "get " + node + " (go on only if czxid is 0xd, no session owns it and it still holds)", "delete -v 0 " + node,
	}
	m := opened(t, Options{Release: f.of}, 80, 24, fixture.Orders().ID)
	run(t, m, press(m, "x"))
	text := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(content(m), "│", " ")), " "))
	wantIn(t, text, "-0000000602 (go on only if czxid is", "and it still holds)", "delete -v 0 ", "worker-3 is not stopped")
}

func TestRefusalsAndErrors(t *testing.T) {
	t.Parallel()
	f := newFakeReleaser()
	f.preview.Refused = act.Gone
	m := opened(t, Options{Release: f.of}, 80, 24, fixture.Orders().ID)
	keysRun(t, m, "x", "Not released (gone)")

	f = newFakeReleaser()
	f.err = errors.New("zk: no answer\x1b[2J")
	m = opened(t, Options{Release: f.of}, 80, 24, fixture.Orders().ID)
	keysRun(t, m, "x", "nothing was sent", `zk: no answer\u{1b}[2J`)

	f = newFakeReleaser()
	f.result = act.Result{Reason: act.NoQuorum, Masters: []act.MasterResult{{Addr: "a:1", Deleted: true}, {Addr: "b:1", Err: errors.New("refused")}, {Addr: "c:1"}}}
	m = inReleaseDialog(t, f)
	keysRun(t, m, "/locks/orders tab enter", "too few masters", "a:1  deleted", "b:1  refused", "c:1  held something else")
}

// A waiter needs a second, explicit step before even a preview.
func TestWaiterNeedsAnExtraStep(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID, "down")
	must.True(t, press(m, "x") == nil, "a preview was asked for at once")
	wantText(t, m, "Remove a waiter", "worker-7 waits", "two may run", "[ Preview ]   [ Cancel ]")
	press(m, "enter")
	must.True(t, !m.HasDialog(), "enter is not cancel")
	press(m, "x")
	run(t, m, press(m, "shift+tab", "enter"))
	must.True(t, f.only(t).Waiter, "not asked for a waiter")
	must.Equal(t, f.only(t).Owner, fixture.Orders().Waiters[0].Name)
	must.True(t, press(m, "enter") == nil, "enter alone confirmed")
	must.True(t, m.HasDialog(), "enter alone closed it")
}

func TestNothingToRelease(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 80, 24, fixture.FreeLock().ID)
	refuses(t, m, "x")
	wantText(t, m, "no holder")
	m = opened(t, Options{Release: func(string) (act.Releaser, bool) { return nil, false }}, 80, 24, fixture.Orders().ID)
	keysShow(t, m, "x", "cannot be written to")
}

// The buttons stay visible, however long the preview is. Warnings come before requests.
func TestLongPreviewKeepsItsButtons(t *testing.T) {
	f := newFakeReleaser()
	for i := range 30 {
		f.preview.Sends = append(f.preview.Sends, fmt.Sprint("delete something with a long name that does not fit into one line of a small dialog at all, ", i))
		f.preview.Warnings = append(f.preview.Warnings, fmt.Sprint("careful ", i))
	}
	m := opened(t, Options{Release: f.of}, 80, 24, fixture.Orders().ID)
	keysRun(t, m, "x", "[ Cancel ]", "more lines: up/down", "Held by", "Careful 0")
	press(m, slices.Repeat([]string{"down"}, 200)...)
	wantText(t, m, "[ Cancel ]", "more lines: up/down", ", 28 ")
	wantNoText(t, m, "Held by")
	keysHide(t, m, "pgup", ", 28 ")
	keysShow(t, m, "pgdown", ", 28 ")
}

func TestUnknownHolderIsNotFree(t *testing.T) {
	f := newFakeReleaser()
	f.result = act.Result{Reason: act.NoQuorum}
	m := inReleaseDialog(t, f)
	cmd := press(m, "/locks/orders", "tab", "enter")
	deliver(m, snapshotOf())
	run(t, m, cmd)
	wantText(t, m, "Now      its holder is unknown")
	wantNoText(t, m, "no holder")
}

// The result names the current holder, even if the lock changes hands while it is open.
func TestReleaseResultShowsCurrentHolder(t *testing.T) {
	t.Parallel()
	holder := func(name string) []inspect.Contender {
		c := fixture.Znode(700, name, time.Second, nil, 0)
		c.State = inspect.Holding
		return []inspect.Contender{c}
	}
	for name, tt := range map[string]struct {
		after []inspect.Contender // as the release found it
		read  time.Duration       // the screen's version, after the result
		is    []inspect.Contender
		want  string
	}{
		"a new holder of a free lock":    {nil, time.Second, holder("worker-8"), "Now      ● worker-8"},
		"another holder":                 {holder("worker-7"), time.Second, holder("worker-8"), "Now      ● worker-8"},
		"no holder any more":             {holder("worker-7"), time.Second, nil, "Now      no holder"},
		"an older reading on the screen": {holder("worker-7"), -time.Second, holder("worker-3"), "Now      ● worker-7"},
	} {
		f := newFakeReleaser()
		f.result = act.Result{Released: true, HoldersAfter: tt.after}
		m := inReleaseDialog(t, f)
		run(t, m, press(m, "/locks/orders", "tab", "enter"))
		l := *fixture.Orders()
		l.Holders, l.Waiters, l.State, l.Findings, l.ReadAt = tt.is, nil, inspect.StateFree, nil, fixture.Noon.Add(tt.read)
		if len(tt.is) > 0 {
			l.State = inspect.StateHeld
		}
		deliver(m, snapshotOf(&l))
		must.Contain(t, content(m), tt.want, name)
	}
}

// The highlight shows the focus: while the user types the path it is on the field, not on a button.
func TestOnlyFocusedElementIsHighlighted(t *testing.T) {
	t.Parallel()
	m := inReleaseDialog(t, newFakeReleaser())
	wants := func(after string, cancel, field bool) {
		t.Helper()
		lines := splitLines(m.View().Content)
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Type the path") })
		const reversed = "7m"
		must.Equal(t, strings.Contains(m.View().Content, reversed+"[ Cancel ]"), cancel, after, "Cancel is marked")
		_, box, _ := strings.Cut(lines[at+1], "│")
		box, _, _ = strings.Cut(box, "│")
		must.Equal(t, strings.Contains(box, reversed), field, after, "the field has a cursor")
	}
	wants("at first", false, true)
	press(m, "tab")
	wants("tab", true, false)
	press(m, "/locks/ord")
	wants("a part of the path", false, true)
	press(m, "ers")
	wants("the path", false, true)
	press(m, "enter")
	wants("enter go to [Release]", false, false)
	press(m, "right")
	wants("right to Cancel", true, false)
}
