package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// In Findings, the footer shows the key for the selected finding's advice if it is allowed: the
// mildest if there are several.
func TestFooterShowsAdvisedKey(t *testing.T) {
	t.Parallel()
	l, key := fixture.Orders(), fixture.Thin()
	holder := l.Holders[0].Name
	step := func(verb inspect.Verb) inspect.Step { return fixture.Act(verb, "do", l.ID, holder) }
	onKey := func(verb inspect.Verb) inspect.Step { return fixture.Act(verb, "do", key.ID, key.Holders[0].Name) }
	for _, tt := range []struct {
		name, want string
		steps      []inspect.Step
	}{
		{"a release", "x force-release", []inspect.Step{step(inspect.VerbRelease)}},
		{"a TTL or a release", "X set TTL", []inspect.Step{onKey(inspect.VerbRelease), onKey(inspect.VerbTTL)}},
		{"to ask or to release", "A ask", []inspect.Step{step(inspect.VerbAsk), step(inspect.VerbRelease)}},
		{"another lock", "", []inspect.Step{fixture.Act(inspect.VerbRelease, "do", fixture.Id("zk:/locks/a"), holder)}},
		{"who is gone", "", []inspect.Step{fixture.Act(inspect.VerbRelease, "do", l.ID, "x")}},
		{"no owner", "", []inspect.Step{fixture.Act(inspect.VerbRelease, "do", l.ID, "")}},
		{"words", "", []inspect.Step{fixture.Say("if it hangs: " + step(inspect.VerbRelease).Command)}},
		{"nothing", "", nil},
	} {
		l.Findings = []inspect.Finding{{Rule: "stuck-holder", Severity: inspect.Warning, Message: "held for long", Steps: tt.steps}}
		s := snapshotOf(l, key)
		for _, acting := range []bool{true, false} {
			o := Options{}
			if acting {
				o = armed(newFakeReleaser().of)
			}
			m := model(t, o, 80, 24, s, "f", "j")
			if acting && tt.want != "" {
				must.Contain(t, foot(m), tt.want, tt.name)
				continue
			}
			wantNone(t, foot(m), cmp.Or(tt.want, "release"))
		}
	}
}

// atFinding returns a model that may act, with the first finding of locks selected.
func atFinding(t *testing.T, release func(string) (act.Releaser, bool), locks []*inspect.Lock) *Model {
	m := model(t, armed(release), 120, 36, snapshotOf(locks...), "f", "j")
	return m
}

// armed are the options of a program that may write.
func armed(release func(string) (act.Releaser, bool)) Options {
	return Options{Release: release, Armed: true, Arm: func(bool) error { return nil }}
}

// A deadlock's advice is about the cheapest hold in its cycle, usually on another lock than the
// row's. The key acts on that lock and holder.
func TestAdvisedKeyActsOnNamedTarget(t *testing.T) {
	first, second := fixture.Orders(), fixture.Readers()
	named := second.Holders[1]
	first.Findings, second.Findings = []inspect.Finding{{
		Rule: "deadlock", Severity: inspect.Critical, Message: "deadlock across 2 locks", Subject: inspect.Subject{Locks: []inspect.ID{first.ID, second.ID}},
		Steps: []inspect.Step{fixture.Act(inspect.VerbRelease, "cheapest fix", second.ID, named.Name), fixture.Say("then take them in the same order")},
	}}, nil
	f := newFakeReleaser()
	m := atFinding(t, f.of, []*inspect.Lock{first, second})
	must.Equal(t, m.front().Selected().Lock, first.ID, "the finding is about")
	wantText(t, m, "x force-release")
	run(t, m, press(m, "x"))
	must.Equal(t, f.only(t).ID, second.ID)
	must.Equal(t, f.only(t).Owner, named.Name)
}

// No dialog opens for a target that is gone or ambiguous, least of all for the lock of the row.
func TestAdviceWithoutTargetOpensNothing(t *testing.T) {
	t.Parallel()
	first, second := fixture.Orders(), fixture.Readers()
	twins := fixture.Readers()
	twins.Holders = []inspect.Contender{twins.Holders[0], twins.Holders[0]}
	gone := second.Holders[1]
	for _, tt := range []struct {
		name    string
		after   []*inspect.Lock
		advised inspect.Contender
		want    string
	}{
		{"its lock", []*inspect.Lock{first}, gone, "the contender that the advice names is gone"},
		{"its contender", []*inspect.Lock{first, withoutHolder(second, gone.Name)}, gone, "the contender that the advice names is gone"},
		{"one of two of a name", []*inspect.Lock{first, twins}, twins.Holders[1], "several contenders have that name"},
	} {
		f := inspect.Finding{
			Rule: "deadlock", Severity: inspect.Critical, Message: "deadlock across 2 locks", Subject: inspect.Subject{Locks: []inspect.ID{first.ID, second.ID}},
			Steps: []inspect.Step{fixture.Act(inspect.VerbRelease, "cheapest fix", second.ID, tt.advised.Name)},
		}
		first.Findings = []inspect.Finding{f}
		m := atFinding(t, newFakeReleaser().of, tt.after)
		wantNoText(t, m, "x force-release")
		for _, key := range []string{"x", "X"} {
			refuses(t, m, key)
			wantText(t, m, "▸ findings", tt.want)
		}
	}
}

// The advised key acts on the contender that the advice names, even if others share its session.
func TestAdvisedKeyActsOnOneContender(t *testing.T) {
	orphan := fixture.Orders()
	for i := range orphan.Holders {
		orphan.Holders[i].Owner = inspect.Owner{}
	}
	twins := fixture.Readers()
	twins.Holders[1].Owner = twins.Holders[0].Owner
	for _, tt := range []struct {
		lock  *inspect.Lock
		named inspect.Untrusted
	}{{orphan, orphan.Holders[0].Name}, {twins, twins.Holders[1].Name}, {twins, twins.Holders[0].Name}} {
		tt.lock.Findings = []inspect.Finding{{
			Rule: "persistent-contender", Severity: inspect.Critical, Message: "left behind",
			Steps: []inspect.Step{fixture.Act(inspect.VerbRelease, "only if its client is gone", tt.lock.ID, tt.named)},
		}}
		f := newFakeReleaser()
		m := atFinding(t, f.of, []*inspect.Lock{tt.lock})
		wantText(t, m, "x force-release")
		run(t, m, press(m, "x"))
		must.Equal(t, f.only(t).Owner, tt.named)
	}
}

// A key that the selected finding does not advise acts on the contender of its advice. If the advice
// names none, no dialog opens, since the row's lock may have a healthy holder.
func TestUnadvisedKeyActsOnNamedContender(t *testing.T) {
	t.Parallel()
	l := fixture.Readers()
	named := l.Holders[1]
	for _, tt := range []struct {
		step  inspect.Step
		key   string
		opens bool
	}{
		{fixture.Act(inspect.VerbAsk, "it can be asked", l.ID, named.Name), "x", true},
		{fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, named.Name), "A", true},
		{fixture.Say("restart that client"), "x", false},
		{fixture.Say("restart that client"), "A", false},
		{fixture.Say("restart that client"), "X", false},
		{inspect.Step{Verb: inspect.VerbRestart, Lock: l.ID, Owner: named.Name}, "x", false},
	} {
		l.Findings = []inspect.Finding{{Rule: "stuck-holder", Severity: inspect.Warning, Message: "held for long", Steps: []inspect.Step{tt.step}}}
		f := newFakeReleaser()
		m := model(t, armed(f.of), 120, 36, snapshotOf(l))
		cmd := press(m, "f", "j", tt.key)
		if !tt.opens {
			wantText(t, m, "▸ findings", "its advice names no contender: choose one on the chain")
			must.True(t, !m.HasDialog(), tt.key, "opens a dialog")
			continue
		}
		run(t, m, cmd)
		must.Equal(t, f.only(t).Owner, named.Name, tt.key)
	}
}

// The advised key deletes a value without a quorum, with the same preview, guard and request as the
// command.
func TestAnAdvisedKeyDeletesAVote(t *testing.T) {
	t.Parallel()
	l := fixture.Split()
	vote := l.Masters[0]
	l.Findings = []inspect.Finding{{
		Rule: "split-quorum", Severity: inspect.Critical, Message: "no quorum", Subject: inspect.Subject{Contender: vote.Value, Digest: vote.Digest},
		Steps: []inspect.Step{fixture.Act(inspect.VerbRelease, "release the vote that never expires", l.ID, vote.Argument())},
	}}
	f := newFakeReleaser()
	f.preview = act.Preview{Seen: &inspect.Contender{Name: vote.Value, Special: inspect.Special{Digest: vote.Digest}, State: inspect.Waiting}, Sends: []string{"compare-and-delete"}, Warnings: []string{"this value has no quorum"}}
	f.result = act.Result{Released: true, Masters: []act.MasterResult{{Addr: vote.Addr, Deleted: true}}}
	m := atFinding(t, f.of, []*inspect.Lock{l})
	wantText(t, m, "x force-release")
	keysRun(t, m, "x", "Delete a value without a quorum", "Value", "This value has no quorum", "compare-and-delete")
	wantNoText(t, m, "go-zookeeper", "It has changed since", "Held by")
	run(t, m, press(m, l.ID.Path, "tab", "enter"))
	wantText(t, m, "Released: ", "deleted")
	want := act.Request{ID: l.ID, Lock: f.requests[0].Lock, Owner: cmp.Or(inspect.Untrusted(vote.Digest), vote.Value), Waiter: true, TwoLeaders: true}
	must.Equal(t, f.only(t), want)
	must.Equal(t, f.executions(), 1, "executed")
	asked := model(t, armed(f.of), 120, 36, m.snapshot, "f", "j", "A")
	must.True(t, !asked.HasDialog(), "A opens the dialog that deletes")
	past := model(t, armed(f.of), 120, 36, m.snapshot)
	past.pastEvents = &past.events
	press(past, "f", "j", "x")
	must.True(t, !past.HasDialog(), "x opens a preview of the present in the past")
	readOnly := model(t, Options{}, 120, 36, m.snapshot, "f", "j", "x")
	must.True(t, !readOnly.HasDialog(), "x opens a dialog without permission to write")
}

func withoutHolder(l *inspect.Lock, name inspect.Untrusted) *inspect.Lock {
	own := *l
	own.Holders = slices.DeleteFunc(slices.Clone(l.Holders), func(c inspect.Contender) bool { return c.Name == name })
	return &own
}

// A key on a group acts only on the contenders that its findings advise it for. If there are none, no
// dialog opens.
func TestGroupKeyActsOnAdvisedContenders(t *testing.T) {
	t.Parallel()
	holder, dead := fixture.Znode(7, "", 0, nil, 0).Name, fixture.Znode(8, "", 0, nil, 0).Name
	release := func(lock string, name inspect.Untrusted) inspect.Step {
		step := fixture.Act(inspect.VerbRelease, "if its client is gone", fixture.Id("zk:/locks/"+lock), name)
		step.Waiter = name == dead
		return step
	}
	restart := fixture.Say("restart that client")
	for _, tt := range []struct {
		name      string
		step      func(lock string) inspect.Step
		key       string
		want, not []string
	}{
		{"each holder", func(l string) inspect.Step { return release(l, holder) }, "x", []string{"3 locks", "worker-a", "worker-c", "Type the number 3"}, []string{"dead-"}},
		{"a waiter of a lock in use", func(l string) inspect.Step { return release(l, dead) }, "x", []string{"3 locks", "dead-a", "dead-b", "dead-c"}, []string{"worker-"}},
		{"the cheapest hold of a cycle", func(string) inspect.Step { return release("d", holder) }, "x", []string{"1 lock", "zk:/locks/d", "worker-d"}, []string{"worker-a"}},
		{"one of three", func(l string) inspect.Step {
			if l == "a" {
				return release(l, holder)
			}
			return restart
		}, "x", []string{"1 lock", "worker-a", "zk:/locks/b: its finding does not advise this"}, []string{"worker-b"}},
		{"a holder that is gone", func(l string) inspect.Step { return release(l, "nobody") }, "x", []string{"x is advised for none of these"}, []string{"Force-release"}},
		{"no contender", func(string) inspect.Step { return restart }, "x", []string{"x is advised for none of these", "press y to copy its command"}, []string{"Force-release"}},
		{"another key", func(l string) inspect.Step { return release(l, holder) }, "X", []string{"X is advised for none of these"}, []string{"How long"}},
	} {
		f := &manyReleasers{}
		var list []*inspect.Lock
		for l := range heldLocks("a", "b", "c", "d").Locks() {
			short := l.ID.Path[len("/locks/"):]
			l.Waiters = []inspect.Contender{fixture.Znode(8, "dead-"+short, time.Minute, nil, 1)}
			if l.Findings[0].Steps = []inspect.Step{tt.step(short)}; short == "d" {
				l.Findings = nil
			} else {
				l.Findings[0].Subject.Locks = []inspect.ID{l.ID, fixture.Id("zk:/locks/d")}
			}
			list = append(list, l)
		}
		m := model(t, Options{Release: f.of}, 120, 36, snapshotOf(list...))
		settle(t, m, press(m, "f", "g", tt.key))
		must.Equal(t, m.HasDialog(), !strings.Contains(tt.want[0], " is advised for none"), tt.name, "a dialog")
		wantText(t, m, tt.want...)
		wantNoText(t, m, tt.not...)
	}
}

// waiterGuard previews and removes waiters only if that is allowed, like the real guard.
type waiterGuard struct{ manyReleasers }

func (f *waiterGuard) of(string) (act.Releaser, bool) { return f, true }

func (f *waiterGuard) Preview(ctx context.Context, r act.Request) (act.Preview, error) {
	p, err := f.manyReleasers.Preview(ctx, r)
	if p.Seen != nil && p.Seen.State != inspect.Holding && !r.Waiter {
		p.Refused = act.NotHolder
	}
	return p, err
}

func (f *waiterGuard) Execute(ctx context.Context, p act.Preview, confirmed string) (act.Result, error) {
	p.Request.ID.Path += " " + p.Request.Owner.String()
	return f.manyReleasers.Execute(ctx, p, confirmed)
}

// Two findings of a group with different contenders of one lock act on both. A waiter is removed
// if the advised command allows that with --waiter.
func TestGroupKeyCoversEveryNamedContender(t *testing.T) {
	t.Parallel()
	dead, gone := fixture.Znode(8, "dead", time.Minute, nil, 1), fixture.Znode(9, "gone", time.Minute, nil, 1)
	dead.State, gone.State = inspect.Waiting, inspect.Waiting
	for _, tt := range []struct {
		allowed   bool
		done      int
		want, not []string
	}{
		{true, 3, []string{"3 contenders of 2 locks", "dead", "gone", "does not hold the lock", "worker-b", "Type the number 3"}, []string{"left out", "worker-a"}},
		{false, 0, []string{"Force-release  1 lock", "worker-b", "left out", "zk:/locks/a: "}, []string{"worker-a"}},
	} {
		f := &waiterGuard{}
		var list []*inspect.Lock
		for l := range heldLocks("a", "b").Locks() {
			if l.ID.Path == "/locks/b" {
				l.Findings[0].Steps = []inspect.Step{fixture.Act(inspect.VerbRelease, "if its client is gone", l.ID, l.Holders[0].Name)}
				list = append(list, l)
				continue
			}
			l.Waiters = []inspect.Contender{dead, gone}
			l.Findings = nil
			for i := range l.Waiters {
				found := fixture.Trouble("stuck-holder", inspect.Warning, "")
				found.Subject = l.Waiters[i].Subject()
				step := fixture.Act(inspect.VerbRelease, "if its client is gone", l.ID, l.Waiters[i].Name)
				step.Waiter = tt.allowed
				found.Steps = []inspect.Step{fixture.Say("wait"), step}
				l.Findings = append(l.Findings, found)
			}
			list = append(list, l)
		}
		m := model(t, Options{Release: f.of}, 120, 36, snapshotOf(list...))
		keysSettle(t, m, "f g x", tt.want...)
		wantNoText(t, m, tt.not...)
		if tt.done == 0 {
			continue
		}
		keysSettle(t, m, "3 tab enter", "3 of 3 done")
		want := []string{"/locks/a " + dead.Name.String() + " typed", "/locks/a " + gone.Name.String() + " typed", "/locks/b " + list[1].Holders[0].Name.String() + " typed"}
		slices.Sort(f.executed)
		must.True(t, slices.Equal(f.executed, want), "executed", f.executed, "want", want)
	}
}
