package inspect

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// queueOf returns a lock with these sessions in queue order; "r10" is a reader.
func queueOf(t *testing.T, words string) *Lock {
	t.Helper()
	if words == "" {
		return FreeDirectory(ID{"zk", "/l"}, nil, now)
	}
	return lockOf(t, entry.ReplaceAllString(words, "KAZOO__${1}lock__#$2/$2"))
}

var entry = regexp.MustCompile(`(r?)(\d+)`)

// lockOf returns the lock of a directory with these children.
func lockOf(t *testing.T, words string) *Lock {
	t.Helper()
	l := directoryLock(ID{"zk", "/l"}, children(t, words), now)
	must.True(t, l != nil, "no lock")
	return l
}

// queueAt is queueOf with another path.
func queueAt(t *testing.T, path, words string) *Lock {
	t.Helper()
	l := queueOf(t, words)
	l.ID.Path = path
	return l
}

// manyQueues returns locks named in order.
func manyQueues(t *testing.T, n int) (locks []*Lock) {
	t.Helper()
	for i := range n {
		locks = append(locks, queueAt(t, fmt.Sprintf("/l%04d", i), "11 12"))
	}
	return locks
}

// short formats events as "kind session", a handover as "handover from>to", and an event of the
// lock as its kind.
func short(events []Event) string {
	var words []string
	for _, e := range events {
		switch {
		case e.Finding != nil:
			words = append(words, string(e.Kind)+" "+e.Finding.Rule)
		case e.Kind == EventHandover:
			words = append(words, "handover "+number(e.From())+">"+number(e.Contender.Name))
		case e.Contender != nil:
			words = append(words, string(e.Kind)+" "+number(e.Contender.Name))
		default:
			words = append(words, string(e.Kind))
		}
	}
	return strings.Join(words, ", ")
}

// number shortens the name of an entry to its number.
func number(name Untrusted) string {
	if strings.Contains(name.Raw(), "__") {
		return strings.TrimLeft(name.Raw()[len(name)-10:], "0")
	}
	return name.String()
}

func TestCompareQueues(t *testing.T) {
	none := view{at: now}
	gone := view{at: now, sessionEnded: func(c *Contender) bool { return c.Owner.Session == 11 }}
	for _, tt := range []struct {
		name, was, is string
		v             view
		want          string
	}{
		{"nothing", "11 12", "11 12", none, ""},
		{"first holder", "", "11", none, "acquired 11"},
		{"joins", "11", "11 12 13", none, "waiting 12, waiting 13"},
		{"hands over", "11 12", "12", none, "released 11, handover 11>12"},
		{"to an unseen client", "11", "12", none, "released 11, handover 11>12"},
		{"released", "11", "", none, "released 11"},
		{"session gone", "11 12", "12", gone, "expired 11, handover 11>12"},
		{"session of the waiter gone", "10 11", "10", gone, "gone 11"},
		{"gave up", "11 12 13", "11 13", none, "gone 12"},
		{"readers follow a writer", "11 r12 r13", "r12 r13", none, "released 11, handover 11>12, handover 11>13"},
		{"a reader joins readers", "r11", "r11 r12", none, "acquired 12"},
		{"several at once", "11 12 13", "13 14", none, "released 11, handover 11>13, gone 12, waiting 14"},
		{"blind", "11 12", "12", view{at: now, blindFrom: now.Add(-time.Minute)}, "ended 11, acquired 12"},
		{"blind, session gone", "11", "", view{at: now, blindFrom: now.Add(-time.Minute), sessionEnded: gone.sessionEnded}, "ended 11"},
		{"forced", "11 12", "12", view{at: now, forced: func(Untrusted) bool { return true }}, "forced 11, handover 11>12"},
	} {
		must.Equal(t, short(compare(queueOf(t, tt.was), queueOf(t, tt.is), tt.v)), tt.want, tt.name)
	}
	gap, look := now.Add(-time.Minute), now.Add(-2*time.Minute)
	ended := compare(queueOf(t, "11"), queueOf(t, ""), view{at: now, blindFrom: gap, unseenSince: look})[0]
	must.Equal(t, ended.Between.From, look, "the last look, before the gap")
	perhaps := directoryLock(ID{"zk", "/sem/locks"}, children(t, "CURATOR-lock-#1/1="), now) // the queue of a semaphore
	must.Equal(t, compare(nil, perhaps, none)[1].Certainty, recipe.Possible, "a grant")
}

func TestCompareLocksThatComeAndGo(t *testing.T) {
	full, hidden := queueOf(t, "11 12"), FreeDirectory(ID{"zk", "/l"}, nil, now)
	hidden.State = StateUnknown
	for name, tt := range map[string]struct {
		was, is *Lock
		v       view
		want    string
	}{
		"in the first pass": {nil, full, view{at: now, first: true}, ""},
		"new":               {nil, full, view{at: now}, "appeared, acquired 11, waiting 12"},
		"new, unread":       {nil, hidden, view{at: now}, "appeared"},
		"gone":              {full, nil, view{at: now}, "released 11, gone"},
		"gone while blind":  {full, nil, view{at: now, blindFrom: now.Add(-time.Minute)}, "ended 11, gone"},
		"unreadable":        {full, hidden, view{at: now}, ""},
		"readable again":    {hidden, full, view{at: now, blindFrom: now.Add(-time.Minute)}, ""},
	} {
		must.Equal(t, short(compare(tt.was, tt.is, tt.v)), tt.want, name)
	}
}

// A listed child stays the same contender once it is read.
func TestReadingAChildIsNoEvent(t *testing.T) {
	listed, read := lockOf(t, "KAZOO__lock__#11/11 KAZOO__lock__#12/?"), queueOf(t, "11 12")
	must.Equal(t, short(compare(listed, read, view{at: now})), "")
	again := lockOf(t, "KAZOO__lock__#11/11 KAZOO__lock__#12/99")
	must.Equal(t, short(compare(read, again, view{at: now})), "gone 12, waiting 12", "another node of the same name")
}

// A holder whose keys were deleted by the servers has not released the lock and still works as if
// it held it. If those keys would not have given it a quorum, it has released the lock. A key that
// disappeared early may have been renamed. A master's vote is compared with its previous one,
// whatever their order.
func TestCompareKeys(t *testing.T) {
	const soon = time.Millisecond
	id := ID{"redis", "k"} // the masters' keys expire after 1 s, 2 s, 3 s …: with three masters the quorum ends at 2 s
	for _, tt := range []struct {
		name, was, is string
		after         time.Duration
		restarted     string
		want          string
		sure          recipe.Confidence
	}{
		{"deleted in time, or renamed", "x x x", "- - -", 1900 * time.Millisecond, "", "released x", recipe.Likely},
		{"ran out", "x x x", "- - -", 1960 * time.Millisecond, "", "expired x", ""},
		{"ran out on a quorum", "x x x", "- - x", 2 * time.Second, "", "expired x", ""},
		{"half deleted", "x x x", "- - x", time.Second, "", "released x", ""},
		{"the rest of it", "- - x", "- - -", time.Second, "", "", ""},
		{"the next one was quick", "x", "y", 10 * time.Millisecond, "", "released x, handover x>y", ""},
		{"restarted without it", "x x x", "- - x", time.Second, "a", "ended x", ""},
		{"another restarted", "x x x", "- - x", time.Second, "c", "released x", ""},
		{"restarted and ran out", "x x x", "- - -", 2 * time.Second, "a", "expired x", ""},
		{"one master less", "x x x", "x x -", time.Second, "", "", ""},
		{"unsure on one", "x x x", "- -* x", soon, "", "ended x", CertaintyUnknown},
		{"unsure where a quorum is left", "x x x", "-* x x", soon, "", "", ""},
		{"unsure on one, released on the others", "x x x", "- -* -", soon, "", "released x", recipe.Likely},
		{"unsure on one of a quorum", "x x -", "- -* -", soon, "", "released x", recipe.Likely},
		{"unsure on one, and down on one", "x x x", "! - -*", soon, "", "ended x", CertaintyUnknown},
		{"unsure on one, down on one, released elsewhere", "x x x x x", "! - -* - -", soon, "", "released x", recipe.Likely},
		{"unsure on two", "x x x", "-* - -*", soon, "", "ended x", CertaintyUnknown},
		{"unsure on the only one", "x", "-*", soon, "", "ended x", CertaintyUnknown},
		{"unsure where it had no key", "x x -", "-* x -", soon, "", "ended x", CertaintyUnknown},
		{"unsure, and retaken", "x x x", "y y* y*", soon, "", "ended x, acquired y", CertaintyUnknown},
		{"unsure on one, and handed over", "x x x", "y y* y", soon, "", "released x, handover x>y", recipe.Likely},
		{"a former master, which became a replica", "- x x", ". -* x", soon, "", "ended x", ""},
		{"a former master, unsure where it had no key", "x x -", ". - -*", soon, "", "released x", ""},
	} {
		v := view{at: now.Add(tt.after), restarted: func(m Vote) bool { return m.Addr == tt.restarted }}
		events := compare(KeyLock(id, ballots(tt.was), now), KeyLock(id, ballots(tt.is), v.at), v)
		must.Equal(t, short(events), tt.want, tt.name)
		if tt.sure != "" && (events[0].Certainty != tt.sure || events[0].Unseen()) {
			t.Errorf("%s: %+v", tt.name, events)
		}
	}
	moved := ballots("-*") // a single master may have a new address
	moved[0].Addr = "z"
	v := view{at: now.Add(soon)}
	must.Equal(t, short(compare(KeyLock(id, ballots("x"), now), KeyLock(id, moved, v.at), v)), "ended x", "moved")
}

func TestEvictionPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy    string
		memory    int64
		noExpiry  bool
		wantEvict bool
	}{
		{"allkeys-lru", 1 << 20, true, true},
		{"volatile-ttl", 1 << 20, false, true},
		{"volatile-ttl", 1 << 20, true, false},
		{"noeviction", 1 << 20, false, false},
		{"allkeys-lru", 0, false, false},
	} {
		s := &Server{Addr: "a", MaxMemory: tt.memory, EvictionPolicy: tt.policy}
		must.Equal(t, s.MayEvict(&Vote{Addr: "a", Present: true, NoExpiry: tt.noExpiry}), tt.wantEvict, tt)
	}
}

func TestCompareFindings(t *testing.T) {
	f := func(rule string, s Severity, contender string) Finding {
		f := Finding{Rule: rule, Severity: s, Message: rule + " " + contender + " " + string(s)}
		f.Subject.Contender = Untrusted(contender)
		return f
	}
	refused := func(reason WriteRefusal) Finding {
		f := f("writes-refused", Critical, "")
		f.Subject.Reason = string(reason)
		return f
	}
	for name, tt := range map[string]struct {
		was, is []Finding
		want    string
	}{
		"none":             {},
		"new":              {nil, []Finding{f("stuck-holder", Warning, "")}, "finding stuck-holder"},
		"cleared":          {[]Finding{f("stuck-holder", Warning, "")}, nil, "cleared stuck-holder"},
		"another subject":  {[]Finding{f("starvation", Warning, "a")}, []Finding{f("starvation", Warning, "b")}, "finding starvation, cleared starvation"},
		"one more subject": {[]Finding{f("starvation", Warning, "a")}, []Finding{f("starvation", Warning, "a"), f("starvation", Warning, "b")}, "finding starvation"},
		"more severe":      {[]Finding{f("self-wait", Info, "a")}, []Finding{f("self-wait", Warning, "a")}, "finding self-wait"},
		"less severe":      {[]Finding{f("self-wait", Warning, "a")}, []Finding{f("self-wait", Info, "a")}, ""},
		"one for another":  {[]Finding{f("herd", Warning, "")}, []Finding{f("no-ttl", Warning, "")}, "finding no-ttl, cleared herd"},
		"another reason":   {[]Finding{refused(RefusedForMemory)}, []Finding{refused(RefusedForSave)}, "finding writes-refused, cleared writes-refused"},
		"one reason more":  {[]Finding{refused(RefusedForMemory)}, []Finding{refused(RefusedForMemory), refused(RefusedForSave)}, "finding writes-refused"},
		"as it was before": {[]Finding{f("herd", Warning, "")}, []Finding{f("herd", Warning, "")}, ""},
	} {
		must.Equal(t, short(compareFindings(tt.was, tt.is, Event{At: now})), tt.want, name)
	}
}

// Each of several holders releases or loses its own permit. Keys of other holders do not matter.
func TestPermitHoldersEndIndependently(t *testing.T) {
	id := ID{"redis", "k"}
	for name, tt := range map[string]struct {
		was, is []Vote
		want    string
	}{
		"released on the others":    {permits("xy", "xy", "xy"), permits("-", "y", "y"), "released x"},
		"too few keys left":         {permits("xy", "xy", "xy"), permits("-", "y", "xy"), "ended x"},
		"released, and handed over": {permits("xy", "xy", "x"), permits("-", "xz", "xz"), "released y, handover y>z"},
	} {
		v := view{at: now.Add(time.Millisecond), restarted: func(m Vote) bool { return m.Addr == "a" }}
		must.Equal(t, short(compare(KeyLock(id, tt.was, now), KeyLock(id, tt.is, v.at), v)), tt.want, name)
	}
}
