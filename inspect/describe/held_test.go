package describe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// A grant that was not seen lies between the creation of the entry and our first sight of the hold.
func TestHeldTime(t *testing.T) {
	backends := []*inspect.Backend{{Name: "zk", Mode: inspect.ModeWatch}, {Name: "once", Mode: inspect.ModeOnce}}
	view := View{Snapshot: inspect.NewSnapshot(noon, backends, nil), Now: noon}
	s := func(n int) time.Time { return noon.Add(time.Duration(-n) * time.Second) }
	for _, test := range []struct {
		name              string
		granted, made, at time.Time
		want, once        string // once is for a one-shot command, which does not watch
	}{
		{"seen", s(20), s(30), s(20), " for 20s", " for 20s"},
		{"between two instants that are close", time.Time{}, s(21), s(20), " for 21s", " for 21s"},
		{"between two that are not", time.Time{}, s(30), s(20), " for up to 30s (acquired between " + Clock(s(30)) + " and " + Clock(s(20)) + ")", " for up to 30s (queued " + Clock(s(30)) + ")"},
		{"seen before it was made, since our clock was set ahead", time.Time{}, s(21), s(3620), " for up to 21s (queued " + Clock(s(21)) + ")", " for up to 21s (queued " + Clock(s(21)) + ")"},
		{"a key, whose creation time is unknown", time.Time{}, time.Time{}, s(20), " for at least 20s (already held at " + Clock(s(20)) + ")", ""},
		{"nothing is known", time.Time{}, time.Time{}, time.Time{}, " (we did not see it begin)", ""},
	} {
		c := &inspect.Contender{State: inspect.Holding, HeldSince: test.granted, Since: test.made, Seen: test.at}
		for backend, want := range map[string]string{"zk": test.want, "once": test.once} {
			held := view.Held(&inspect.Lock{ID: inspect.ID{Backend: backend, Path: "/l"}}, c)
			must.Equal(t, held.String(), want, backend, test.name)
		}
	}
}

// In Redis an entry's time may be that of the acquisition, so the text does not mention a queue.
func TestHeldTimeOfRedisKey(t *testing.T) {
	c := &inspect.Contender{State: inspect.Holding, Since: noon.Add(-30 * time.Second), Seen: noon.Add(-20 * time.Second)}
	l := &inspect.Lock{ID: inspect.ID{Backend: "redis", Path: "k"}, Masters: []inspect.Vote{{Addr: "r1"}}}
	for mode, want := range map[inspect.Mode]string{
		inspect.ModePush: " for up to 30s (already held at " + Clock(c.Seen) + ")", inspect.ModeOnce: " for up to 30s",
	} {
		backends := []*inspect.Backend{{Name: "redis", Kind: inspect.Redis, Mode: mode}}
		v := View{Snapshot: inspect.NewSnapshot(noon, backends, nil), Now: noon}
		must.Equal(t, v.Held(l, c).String(), want, mode)
	}
}

// Ages whose clock was not compared with ours are approximate.
func TestAgesByAnUnknownClock(t *testing.T) {
	zk := &inspect.Backend{Name: "zk", Mode: inspect.ModeOnce, Clock: inspect.LeaderClock{Newest: noon}}
	v := View{Snapshot: inspect.NewSnapshot(noon, []*inspect.Backend{zk}, nil), Now: noon}
	at := func(s inspect.ContenderState, ago int) inspect.Contender {
		return inspect.Contender{State: s, Since: noon.Add(-time.Duration(ago) * time.Second)}
	}
	l := &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/l"}, Holders: []inspect.Contender{at(inspect.Holding, 20)}}
	l.Waiters = []inspect.Contender{at(inspect.Waiting, 5), at(inspect.Waiting, 9), at(inspect.Waiting, 7), {State: inspect.Waiting}, at(inspect.Waiting, 30)}
	l.Waiters[4].Dead = true
	wait, known := v.LongestWait(l)
	said(t, [][3]string{
		{"held", v.Held(l, &l.Holders[0]).String(), " for about 20s by the servers' clock (not compared with ours)"},
		{"longest wait", fmt.Sprintf("%s %v %v", Signed(wait), known, OldestWaiter(l).Equal(l.Waiters[1].Since)), "~9.0s true true"},
		{"in this state", fmt.Sprint(v.InState(l, &l.Holders[0]), v.InState(l, &l.Waiters[0])), "0s 0s"},
		{"signs", Unbounded.Sign() + Exactly.Sign() + AtMost.Sign() + AtLeast.Sign() + About.Sign(), "≤≥~"},
	})
	zk.Clock = inspect.LeaderClock{}
	said(t, [][3]string{
		{"in this state by our clock", fmt.Sprint(v.InState(l, &l.Holders[0]), v.InState(l, &l.Waiters[0]), v.InState(l, &l.Waiters[3])), "20s 5s 0s"},
		{"by our clock", Signed(inspect.Age{Duration: 9 * time.Second, Known: true}), "9.0s"},
	})
	_, known = v.LongestWait(&inspect.Lock{})
	must.Equal(t, fmt.Sprint(known, OldestWaiter(&inspect.Lock{}).IsZero()), "false true", "no waiters")
}

// After a gap in watching, the beginning of a hold is unknown, however long we have watched since.
// Its age counts from our first sight of it.
func TestHeldAfterAGap(t *testing.T) {
	view := View{Snapshot: inspect.NewSnapshot(noon, []*inspect.Backend{{Name: "redis", Kind: inspect.Redis, Mode: inspect.ModePush}}, nil), Now: noon}
	back := noon.Add(-8 * time.Second)
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "redis", Path: "k"}, State: inspect.StateHeld, UnseenSince: noon.Add(-time.Hour),
		Holders: []inspect.Contender{{Name: "b", State: inspect.Holding, Seen: back}},
	}
	want := " (already held at " + Clock(back) + ")"
	must.Contain(t, view.Verdict(l), "for at least 8s"+want)
	before := view.Standing(l)
	view.Now = noon.Add(time.Minute)
	got := view.Standing(l)
	must.True(t, strings.Contains(got, want) && got == before, got, "was", before, "the text must not change")
}

// The text about a hold from before we watched says so, with the one known time.
func TestHoldBeforeWatchingIsMarked(t *testing.T) {
	id := inspect.ID{Backend: "redis", Path: "k"}
	up := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected, Mode: inspect.ModePush, FirstPass: true}
	votes := []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "a", ExpiresAt: noon.Add(time.Minute)}}
	o := inspect.NewObserver(func() time.Time { return noon }, nil)
	must.Succeed(t, o.Play(func(emit func(inspect.Update)) error {
		emit(inspect.Update{Backend: up, Put: []*inspect.Lock{inspect.KeyLock(id, votes, noon)}})
		return nil
	}))
	view := View{Snapshot: o.Snapshot(), Now: noon.Add(14 * time.Second)}
	want := " for at least 14s (already held at " + Clock(noon) + ")"
	must.Contain(t, view.Verdict(view.Snapshot.Lock(id)), want)
}

// A hold is too long only if the usual time is known and the hold is known to exceed it. A leader
// should hold.
func TestHeldForLongerThanUsual(t *testing.T) {
	view := View{Snapshot: inspect.NewSnapshot(noon, []*inspect.Backend{{Name: "zk", Mode: inspect.ModeWatch}}, nil), Now: noon}
	for _, test := range []struct {
		held, expected time.Duration
		kind           inspect.Kind
		atMost, over   bool
	}{
		{25 * time.Minute, 10 * time.Minute, inspect.KindMutex, false, true},
		{10 * time.Minute, 10 * time.Minute, inspect.KindMutex, false, false},
		{25 * time.Minute, 0, inspect.KindMutex, false, false},
		{25 * time.Minute, 10 * time.Minute, inspect.KindElection, false, false},
		{25 * time.Minute, 10 * time.Minute, inspect.KindMutex, true, false},
	} {
		c := &inspect.Contender{State: inspect.Holding, Since: noon.Add(-test.held), HeldSince: noon.Add(-test.held), Seen: noon}
		if test.atMost {
			c.HeldSince = time.Time{}
		}
		held := view.Held(&inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/l"}, Kind: test.kind, ExpectedHold: test.expected}, c)
		must.Equal(t, held.Over(), test.over, test.held, "is over")
		must.Equal(t, strings.Contains(held.String(), "2.5 times the usual 10m"), test.over, "is said to be over:", held)
	}
	learnt := Held{Duration: 3 * time.Second, Known: Exactly, Usual: time.Second, learnt: true}
	must.True(t, !learnt.Over(), "three times the 99th percentile is too long")
	must.Contain(t, Held{Duration: 100 * time.Minute, Known: Exactly, Usual: 10 * time.Minute}.String(), "(10 times the usual 10m)")
	learnt.Duration, learnt.Known = 3100*time.Millisecond, AtLeast
	must.True(t, learnt.Over(), "over three times the 99th percentile is not too long")
}

// With only a lower bound, the longest time of the hold is unknown.
func TestInStateIgnoresLowerBounds(t *testing.T) {
	l := &inspect.Lock{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Holders: []inspect.Contender{{Name: "a", State: inspect.Holding, Seen: noon.Add(-8 * time.Second)}}}
	v := View{Snapshot: inspect.NewSnapshot(noon, []*inspect.Backend{{Name: "redis", Mode: inspect.ModePoll}}, []*inspect.Lock{l}), Now: noon}
	held := v.Held(l, &l.Holders[0])
	must.True(t, held.Known == AtLeast && held.Duration == 8*time.Second, held)
	must.Equal(t, v.InState(l, &l.Holders[0]), 0, "held for at most … and for at least 8s")
}

// A time of day alone is read as the nearest one.
func TestDistantTimesShowDate(t *testing.T) {
	now := time.Date(2026, 11, 23, 3, 14, 7, 0, time.UTC)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(-time.Hour), "02:14:07"},
		{now.Add(-4 * time.Hour), "23:14:07"},
		{now.Add(-12 * time.Hour), "2026-11-22 15:14:07"},
		{now.Add(time.Second - 12*time.Hour), "15:14:08"},
		{now.Add(21 * time.Hour), "2026-11-24 00:14:07"},
		{now.AddDate(-1, 0, 0), "2025-11-23 03:14:07"},
		{now.Add(-time.Hour).In(time.FixedZone("ahead", 22*3600)), "02:14:07"},
	} {
		must.Equal(t, When(tt.at, now), tt.want, tt.at)
	}
	must.Contain(t, Blind(inspect.Interval{From: now.AddDate(0, 0, -2), To: now}), "2026-11-2", "two days")
	must.Contain(t, momentText(now.AddDate(0, 0, -2), now), "2026-11-21 03:14:07", "evidence")
}

func TestHoldSinceEarlierDayShowsDate(t *testing.T) {
	at := time.Now()
	for days, want := range map[int]bool{0: false, 3: true} {
		seen := at.AddDate(0, 0, -days)
		v := View{Snapshot: inspect.NewSnapshot(at, []*inspect.Backend{{Name: "r", Mode: inspect.ModePush}}, nil), Now: at}
		h := inspect.Contender{Name: "h", State: inspect.Holding, Seen: seen}
		l := &inspect.Lock{ID: inspect.ID{Backend: "r", Path: "k"}, State: inspect.StateHeld, Holders: []inspect.Contender{h}}
		date := seen.Local().Format(time.DateOnly)
		for _, got := range []string{v.Held(l, &h).String(), v.Standing(l)} {
			must.Contain(t, got, "already held at ")
			must.Equal(t, strings.Contains(got, date), want, "shows the date of", days, "days ago:", got)
		}
	}
}
