package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// optionsArming returns the options of a program whose user can allow writing, unless err refuses
// it. asked lists the arguments of Arm: true allows writing, false forbids it again.
func optionsArming(f *fakeReleaser, err error, asked *[]bool) Options {
	return Options{Release: f.of, Lab: newFakeLab(), Arm: func(on bool) error {
		*asked = append(*asked, on)
		return err
	}}
}

// choose runs the palette entry of that name.
func choose(t *testing.T, m *Model, name string) {
	t.Helper()
	press(m, ":", name)
	run(t, m, press(m, "enter"))
}

// Without permission to write, a release is previewed but cannot be sent. :write allows it in the
// running program, and :read-only forbids it again.
func TestWriteIsAllowedWhileItRuns(t *testing.T) {
	t.Parallel()
	var asked []bool
	f := newFakeReleaser()
	m := opened(t, optionsArming(f, nil, &asked), 120, 36, fixture.Orders().ID)
	wantText(t, m, "READ-ONLY")
	run(t, m, press(m, "x"))
	wantText(t, m, "Force-release  zk:/locks/orders", "Next     ○ worker-7", "Preview only (read-only). w allows this one action.", "[ Close ]", "w allow this action")
	refuses(t, m, "/orders", "tab", "enter")
	must.Equal(t, f.executions(), 0, "executed")
	choose(t, m, "write")
	wantText(t, m, "WRITE")
	wantNoText(t, m, "READ-ONLY")
	run(t, m, press(m, "x"))
	keysRun(t, m, "/locks/orders tab enter", "Released: worker-3")
	keysShow(t, m, "enter : read", "▸ read-only ", ":read-only forbid actions on locks")
	keysShow(t, m, "esc : write enter", "writing is already allowed; :read-only forbids it")
	wantNoText(t, m, "READ-ONLY")
	choose(t, m, "read-only")
	wantText(t, m, "READ-ONLY")
	must.Same(t, asked, []bool{true, false})
}

// A preview continues once writing is allowed, in production after asking for a reason. Once it
// closes, writing is forbidden again.
func TestWriteIsAllowedFromAPreview(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"", "production"} {
		var asked []bool
		f := newFakeReleaser()
		o := optionsArming(f, nil, &asked)
		o.Environment = environment
		m := opened(t, o, 120, 36, fixture.Orders().ID)
		run(t, m, press(m, "x"))
		again := send(m, press(m, "w")())
		if environment != "" {
			wantText(t, m, "Why are you doing this?")
			again = press(m, "OPS-7", "enter")
		}
		settle(t, m, again)
		keysRun(t, m, "/locks/orders tab enter", "Released: worker-3", "WRITE")
		keysRun(t, m, "enter", "READ-ONLY")
		must.Same(t, asked, []bool{true, false}, environment, "asked for")
		must.Equal(t, len(f.requests), 2, environment, "previews")
	}
}

// The answer to a preview that was left allows nothing, and does not end what :write allowed meanwhile.
func TestLateAnswersAllowNothing(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []bool{false, true} {
		var asked []bool
		m := opened(t, optionsArming(newFakeReleaser(), nil, &asked), 120, 36, fixture.Orders().ID)
		run(t, m, press(m, "x"))
		late := press(m, "w")
		press(m, "esc")
		if meanwhile {
			choose(t, m, "write")
		}
		if cmd := send(m, late()); cmd != nil {
			cmd()
		}
		must.Equal(t, strings.Contains(content(m), "READ-ONLY"), !meanwhile, "read-only")
		must.Equal(t, asked[len(asked)-1], meanwhile, "the last request")
	}
}

// While writing is forbidden, the form that takes a lock allows only that, until it is
// released.
func TestAcquireAllowsWriting(t *testing.T) {
	t.Parallel()
	var asked []bool
	m := opened(t, optionsArming(newFakeReleaser(), nil, &asked), 120, 36, fixture.Orders().ID)
	keysSettle(t, m, "a")
	keysShow(t, m, "orders", "READ-ONLY", "[ Allow writing and acquire ]")
	must.Equal(t, len(asked), 0, "requests before the form is sent")
	keysSettle(t, m, "enter", "OWN LOCKS", "HOLDING 1")
	must.Same(t, asked, []bool{true}, "asked")
	press(m, "H", "/", "locks/orders", "enter")
	keysRun(t, m, "x", "Preview only (read-only). w allows this one action.") // another client's lock
	run(t, m, send(m, press(m, "w")()))
	wantText(t, m, "Type the path")
	keysShow(t, m, "esc L", "OWN LOCKS", "HOLDING 1")
	keysSettle(t, m, "r", "READ-ONLY", "released zk:/locks/orders")
	must.Same(t, asked, []bool{true, true, false}, "asked")
}

// While writing is forbidden, the form of a contention run allows it, and the run begins.
func TestRunAllowsWriting(t *testing.T) {
	var asked []bool
	m := inLab(t, optionsArming(newFakeReleaser(), nil, &asked), 120, 36, fixture.Orders().ID)
	keysShow(t, m, "n", "READ-ONLY", "[ Allow writing and run ]")
	armed := press(m, "enter")
	must.True(t, send(m, armed()) != nil, "no run was started")
	wantText(t, m, "OWN LOCKS", ". stop")
	wantNoText(t, m, "READ-ONLY", "Compare two kinds of lock")
	must.Same(t, asked, []bool{true}, "asked")
}

// If writing cannot be allowed, such as without an audit file, it stays forbidden and the reason
// is shown.
func TestWriteThatCannotBeAllowed(t *testing.T) {
	var asked []bool
	o := optionsArming(newFakeReleaser(), errors.New("audit: permission denied"), &asked)
	m := opened(t, o, 120, 36, fixture.Orders().ID)
	choose(t, m, "write")
	wantText(t, m, "READ-ONLY", "audit: permission denied")
	m = opened(t, o, 120, 36, fixture.Orders().ID)
	keysSettle(t, m, "a")
	keysSettle(t, m, "orders enter", "READ-ONLY", "audit: permission denied", "Acquire a lock")
	must.Same(t, asked, []bool{true, true}, "asked")
}

// A read_only profile can preview, but not arm.
func TestReadOnlyProfilePreviews(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of, ReadOnly: "profile \"prod\" is read_only"}, 120, 36, fixture.Orders().ID)
	wantText(t, m, "READ-ONLY")
	keysRun(t, m, "x", "Next     ○ worker-7", "Preview only (profile \"prod\" is read_only")
	keysHide(t, m, "esc : write", "allow actions on locks")
}

// In production the user is asked for the reason before the preview, and the request includes it.
func TestProductionAsksForTheReason(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of, Environment: "production"}, 120, 36, fixture.Orders().ID, "x")
	must.Equal(t, len(f.requests), 0, "previews before the reason")
	wantText(t, m, "This is production. Why are you doing this?")
	must.True(t, press(m, "enter", "enter") == nil, "an empty reason was accepted")
	wantText(t, m, "enter a reason", "[ Preview ]   [ Cancel ]")
	run(t, m, press(m, "ticket 7", "enter"))
	wantText(t, m, "Held by  ● worker-3")
	must.Equal(t, f.requests[0].Why, "ticket 7")
}

// A TTL is asked for, validated, previewed on each master, and set after the user typed the path.
// A ZooKeeper lock has none.
func TestChainSetsTTL(t *testing.T) {
	t.Parallel()
	now := fixture.Noon
	l := fixture.Thin()
	seen := l.Holders[0]
	votes := []inspect.Vote{{Addr: "r1:6379", Up: true, Present: true, NoExpiry: true}}
	f := newFakeReleaser()
	f.preview = act.Preview{Seen: &seen, Votes: votes, Sends: []string{"r1:6379: pexpire lock:a 600000"}}
	f.result = act.Result{Set: true, Seen: &seen, Masters: []act.MasterResult{{
		Addr: "r1:6379", Set: true, After: inspect.Vote{Up: true, Present: true, ExpiresAt: now.Add(10 * time.Minute)},
	}}}
	m := opened(t, Options{Release: f.of, Now: func() time.Time { return now }}, 120, 36, l.ID)
	keysShow(t, m, "X", "Set a TTL  "+l.ID.String(), "How long should the key last")
	keysShow(t, m, "soon enter enter", "enter a time such as 90s")
	for range len("soon") {
		press(m, "backspace")
	}
	run(t, m, press(m, "10m", "enter"))
	wantText(t, m, "Now      never expires  r1:6379", "Then     expires in 10m", "pexpire lock:a 600000", "[ Set ]")
	run(t, m, press(m, l.ID.Path, "tab", "enter"))
	wantText(t, m, "Set: the key expires in 10m unless its client renews it", "r1:6379  set; expires in 10m00s")
	must.Equal(t, f.requests[0].TTL, 10*time.Minute)
	m = opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	refuses(t, m, "X")
	must.Equal(t, m.flashText, "only keys of Redis have a TTL", "in ZooKeeper")
}
