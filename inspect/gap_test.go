package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestUnobservedEndIsNotARelease(t *testing.T) {
	for _, skipped := range []bool{true, false} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
		if skipped {
			a.send(33, Update{Gap: &Gap{Backend: "zk", From: now.Add(time.Second), Until: now.Add(33 * time.Second)}})
		}
		a.send(34, Update{Put: []*Lock{at(queueOf(t, "12"), 34)}})
		if reported := a.reports(t); strings.Contains(reported, "released") == skipped {
			t.Errorf("skipped %v: %s", skipped, reported)
		}
		a.send(50, Update{Put: []*Lock{at(queueOf(t, "13"), 50)}})
		must.Contain(t, a.reports(t), "released 12", "long after")
	}
}

// After a gap, the masters of a Redlock are read one after the other. Reading one of them does not
// date the answers of the others.
func TestEndInGapIgnoresReadOrder(t *testing.T) {
	id := ID{"five", "k"}
	key := func(values string, read ...int) *Lock {
		votes := ballots(values)
		for i := range votes {
			votes[i].ReadAt = now.Add(time.Duration(read[i]) * time.Second)
		}
		return KeyLock(id, votes, now.Add(time.Duration(slices.Max(read))*time.Second))
	}
	up := &Backend{Name: "five", Kind: Redis, State: Connected, Mode: ModePush, FirstPass: true}
	a := applying(t)
	a.send(0, Update{Put: []*Lock{key("x x x x x", 0, 0, 0, 0, 0)}, Backend: up})
	a.send(14, Update{Gap: &Gap{Backend: "five", From: now.Add(time.Second), Until: now.Add(14 * time.Second)}})
	a.send(15, Update{Put: []*Lock{key("y - x x x", 15, 15, 0, 0, 0)}})
	a.reports(t)
	a.send(16, Update{Put: []*Lock{key("y y y - -", 15, 16, 16, 16, 16)}})
	must.Contain(t, a.reports(t), "ended x")
	a.send(17, Update{Put: []*Lock{key("- - - - -", 17, 17, 17, 17, 17)}})
	if got := a.reports(t); !strings.Contains(got, "released y") && !strings.Contains(got, "expired y") {
		t.Errorf("after all masters were read: %s", got)
	}
}

func TestLockAgeFollowsBackendContact(t *testing.T) {
	read, heard := now.Add(-time.Hour), now.Add(-time.Minute)
	for name, c := range map[string]struct {
		lock Lock
		b    *Backend
		want time.Time
	}{
		"watched":          {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, now},
		"lost sight":       {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, heard},
		"polled":           {Lock{ReadAt: read, Polled: true}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, read},
		"a poller":         {Lock{ReadAt: read}, &Backend{Mode: ModePoll, State: Connected, HeardAt: heard}, read},
		"never heard":      {Lock{ReadAt: read}, &Backend{Mode: ModePush, State: Down}, read},
		"read later":       {Lock{ReadAt: now}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, now},
		"reported nothing": {Lock{ReadAt: read}, nil, read},
	} {
		if got := c.lock.AsOf(c.b, now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Events in a gap have the gap's interval, and the gap is reported once.
func TestGapsAreReported(t *testing.T) {
	down, up := *zkUp, *zkUp
	down.State, down.HeardAt = Down, now.Add(8*time.Second)
	gap := func(from, until int) Update {
		return Update{Gap: &Gap{Backend: "zk", From: now.Add(time.Duration(from) * time.Second), Until: now.Add(time.Duration(until) * time.Second)}}
	}
	type step struct {
		at int
		u  Update
	}
	for name, tt := range map[string]struct {
		steps []step
		from  int // From of all events about the gap
		until int // To of the blind event
	}{
		"the process was paused":           {[]step{{41, gap(8, 41)}}, 8, 41},
		"the same gap twice":               {[]step{{41, gap(8, 41)}, {41, gap(8, 41)}}, 8, 41},
		"the backend was down":             {[]step{{10, Update{Backend: &down}}, {41, Update{Backend: &up}}}, 8, 41},
		"the process was paused meanwhile": {[]step{{10, Update{Backend: &down}}, {40, gap(20, 40)}, {41, Update{Backend: &up}}}, 8, 41},
	} {
		t.Run(name, func(t *testing.T) {
			a := applying(t)
			a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
			a.reports(t)
			for _, s := range tt.steps {
				a.send(s.at, s.u)
			}
			a.send(42, Update{Put: []*Lock{at(queueOf(t, "12 13"), 42)}})
			seconds := func(at time.Time) int { return int(at.Sub(now) / time.Second) }
			blind, ended := 0, 0
			for _, e := range a.events {
				switch e.Kind {
				case EventBlind:
					blind++
					if seconds(e.Between.From) != tt.from || seconds(e.Between.To) != tt.until || e.Backend == nil || e.Certainty != recipe.Certain {
						t.Errorf("blind %+v", e)
					}
				case EventEnded:
					ended++
					if e.Certainty != CertaintyUnknown || e.Contender.Owner.Session != 11 || seconds(e.Between.To) != 42 || seconds(e.Between.From) < 8 || seconds(e.Between.From) > 10 {
						t.Errorf("ended %+v", e)
					}
				case EventReleased, EventExpired, EventHandover:
					t.Errorf("unseen event %s", e.Kind)
				case EventAcquired:
					if e.Contender.HeldSince.IsZero() && e.Between == (Interval{}) {
						t.Errorf("acquired %+v", e)
					}
				}
			}
			if blind != 1 || ended != 1 {
				t.Errorf("reported %d gaps and %d ends", blind, ended)
			}
		})
	}
	// The first pass never ended, so there is no gap.
	down.FirstPass = false
	a := applying(t)
	a.send(0, Update{Backend: &down})
	a.send(9, Update{Backend: zkUp, Put: []*Lock{queueOf(t, "11")}})
	if reported := a.reports(t); strings.Contains(reported, "blind") {
		t.Error(reported)
	}
}

// A grant between two distant reads is not dated.
func TestGrantBetweenDistantReadsIsUndated(t *testing.T) {
	for _, unseen := range []time.Duration{time.Second, 20 * time.Second} {
		for name, before := range map[string]string{"a key that was free": "-", "a new key": ""} {
			id := ID{"redis", "k"}
			a := applying(t)
			up := &Backend{Name: "redis", Kind: Redis, State: Connected, Mode: ModePoll, FirstPass: true}
			first := Update{Backend: up}
			if before != "" {
				first.Put = []*Lock{KeyLock(id, ballots(before), now)}
			}
			a.send(0, first)
			l := KeyLock(id, ballots("x"), now.Add(30*time.Second))
			l.UnseenSince = l.ReadAt.Add(-unseen)
			a.send(30, Update{Put: []*Lock{l}})
			if dated := !a.locks.get(id).Holders[0].HeldSince.IsZero(); dated != (unseen == time.Second) {
				t.Errorf("%s, not read for %v: dated %v", name, unseen, dated)
			}
		}
	}
}

// A second gap, before the changes of the first are read, does not make those changes younger.
func TestSecondGapDoesNotRedateChanges(t *testing.T) {
	up := *zkUp
	gap := func(from, until int) Update {
		return Update{Gap: &Gap{Backend: "zk", From: now.Add(time.Duration(from) * time.Second), Until: now.Add(time.Duration(until) * time.Second)}}
	}
	downFrom := func(heard int) Update {
		d := *zkUp
		d.State, d.HeardAt = Down, now.Add(time.Duration(heard)*time.Second)
		return Update{Backend: &d}
	}
	type step struct {
		at int
		u  Update
	}
	for name, steps := range map[string][]step{
		"two late reads":              {{5, gap(1, 5)}, {8, gap(4, 8)}},
		"a late read, then no server": {{5, gap(1, 5)}, {7, downFrom(6)}, {8, Update{Backend: &up}}},
		"no server twice":             {{3, downFrom(1)}, {5, Update{Backend: &up}}, {7, downFrom(6)}, {8, Update{Backend: &up}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := applying(t)
			a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
			a.reports(t)
			for _, s := range steps {
				a.send(s.at, s.u)
			}
			a.send(9, Update{Put: []*Lock{at(queueOf(t, "12"), 9)}}) // 11 was released at 2 s
			found := false
			for _, e := range a.events {
				if e.Kind == EventEnded {
					found = true
					if from := e.Between.From.Sub(now); from > 1*time.Second {
						t.Errorf("ended between %v and %v", from, e.Between.To.Sub(now))
					}
				}
			}
			if !found {
				t.Error(a.reports(t))
			}
		})
	}
}

// A lock in a place that was not watched before may be old.
func TestNewlyWatchedLockIsNotNew(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Backend: &Backend{Name: "redis", Kind: Redis, State: Connected, Mode: ModePoll, FirstPass: true}})
	a.reports(t)
	l := KeyLock(ID{"redis", "k"}, ballots("x"), now.Add(30*time.Second))
	l.UnseenSince = NeverSeen
	a.send(30, Update{Put: []*Lock{l}})
	if reported := a.reports(t); strings.Contains(reported, "acquired") || strings.Contains(reported, "appeared") {
		t.Error(reported)
	}
	if held := a.locks.get(l.ID).Holders[0].HeldSince; !held.IsZero() {
		t.Errorf("held since %v", held)
	}
}

// After a server restart, a session that its client did not resume expires only after its full
// timeout, long after all locks were read again. An entry that ends by then may have expired, or
// been released by a returning client.
func TestUnreportedSessionEndIsNoRelease(t *testing.T) {
	down := *zkUp
	down.State, down.HeardAt = Down, now.Add(time.Second)
	heard := func(second int) map[int64]Session {
		return map[int64]Session{11: {Timeout: 20 * time.Second, LastContact: now.Add(time.Duration(second) * time.Second)}}
	}
	for name, tt := range map[string]struct {
		before, after map[int64]Session
		at            int
		want          string
		from          int // From of an end
	}{
		"sessions unknown":                   {nil, nil, 30, "ended 11", 1},
		"not heard from since":               {heard(-1), nil, 30, "ended 11", -1},
		"heard from since":                   {heard(-1), heard(15), 30, "released 11", 0},
		"heard from since, but not recently": {nil, heard(6), 30, "released 11", 0},
		"long after":                         {nil, nil, 90, "released 11", 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := applying(t)
			a.send(0, Update{Put: []*Lock{queueOf(t, "11")}, Backend: zkUp, Sessions: tt.before})
			a.send(3, Update{Backend: &down})
			a.send(5, Update{Backend: zkUp, Put: []*Lock{at(queueOf(t, "11"), 5)}})
			a.send(15, Update{Sessions: tt.after})
			a.reports(t)
			first := len(a.events)
			a.send(tt.at, Update{Put: []*Lock{at(queueOf(t, ""), tt.at)}})
			events := a.events[first:]
			if got := short(events); got != tt.want {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			if e := events[0]; e.Kind == EventEnded && (e.Certainty != CertaintyUnknown || e.Between.From.Sub(now) != time.Duration(tt.from)*time.Second || e.Between.To.Sub(now) != time.Duration(tt.at)*time.Second) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A restarted server lost its connections, even if neither clock nor sessions are known.
func TestEndAfterRestartIsNoRelease(t *testing.T) {
	restarted := *zkUp
	restarted.DisturbedAt = now.Add(5 * time.Second)
	for at, want := range map[int]string{30: "ended 11", 120: "released 11"} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11")}, Backend: zkUp})
		a.send(5, Update{Backend: &restarted})
		first := len(a.events)
		a.send(at, Update{Put: []*Lock{queueOf(t, "")}})
		events := a.events[first:]
		if got := short(events); got != want {
			t.Errorf("after %d s: %q, want %q", at, got, want)
			continue
		}
		if e := events[0]; e.Kind == EventEnded && (e.Certainty != CertaintyUnknown || e.Between.From.IsZero() || e.Between.From.After(restarted.DisturbedAt)) {
			t.Errorf("%+v", e)
		}
	}
}

// A time by a former leader's clock, or by this leader's before it was set, does not date a
// client's last contact.
func TestFormerLeadersClockDatesNoContact(t *testing.T) {
	const from = 5
	seen := now.Add(-time.Minute)
	p := &backendState{state: &Backend{Clock: LeaderClock{Known: true, From: from}}}
	for czxid, known := range map[int64]bool{from: true, from - 1: false} {
		c := &Contender{Czxid: czxid, Since: now.Add(-time.Second), Seen: seen, Owner: Owner{Session: 11, SessionTimeout: 30 * time.Second}}
		must.Equal(t, p.sessionLived(c, now), known, czxid, "lived")
		if came := p.came(c); came.Equal(c.Since) != known || came.Equal(seen) == known {
			t.Errorf("%d: created at %v", czxid, came)
		}
	}
	if age := new(backendState).ageOf(&WatchTable{ReadAt: now}, now); age != TableOfNow {
		t.Errorf("a table of an unreported backend: %v", age)
	}
}

// The read that the gap interrupted failed too, so it dates no earlier facts.
func TestFailedReadAfterGapDatesNothing(t *testing.T) {
	a := applying(t)
	key := func(word string, second int) *Lock {
		votes := ballots(word)
		votes[0].ReadAt = now.Add(time.Duration(second) * time.Second)
		return KeyLock(ID{"one", "k"}, votes, votes[0].ReadAt)
	}
	up := &Backend{Name: "one", Kind: Redis, State: Connected, Mode: ModePush, FirstPass: true}
	a.send(0, Update{Put: []*Lock{key("x", 0)}, Backend: up})
	a.send(34, Update{Gap: &Gap{Backend: "one", From: now.Add(time.Second), Until: now.Add(34 * time.Second)}})
	a.send(34, Update{Put: []*Lock{key("!", 34)}})
	a.reports(t)
	a.send(35, Update{Put: []*Lock{key("y", 35)}})
	a.publish()
	s := must.Have(a.sub.Next(t.Context()))(t)
	for _, kind := range []EventKind{EventEnded, EventAcquired} {
		i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Kind == kind })
		if i < 0 || !s.Events[i].Between.From.Equal(now.Add(time.Second)) {
			t.Errorf("%s: %+v", kind, s.Events)
		}
	}
}
