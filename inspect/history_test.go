package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func (a *applied) history() *History { return a.locks.get(ID{"zk", "/l"}).Observed.History }

func TestHistoryOfAQueue(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12 13")}, Backend: zkUp})
	if h := a.history(); h != nil {
		t.Errorf("nothing happened, but the history is %+v", h)
	}
	a.send(10, Update{Put: []*Lock{at(queueOf(t, "12 13"), 10)}})
	first := a.history()
	a.send(14, Update{Put: []*Lock{at(queueOf(t, "13"), 14)}})
	a.send(15, Update{Put: []*Lock{at(queueOf(t, ""), 15)}})
	seconds := func(from, to, end int) Span {
		s := Span{Ended: now.Add(time.Duration(end) * time.Second), Queued: now, Granted: now.Add(time.Duration(from) * time.Second)}
		s.Contender, s.Session = Untrusted(fmt.Sprintf("%s__lock__%010d", guid, to)), int64(to)
		return s
	}
	before := seconds(0, 11, 10)
	before.Granted = time.Time{} // held before the first read
	want := &History{
		Since: now, Grants: 2, Handovers: 2,
		Holds:  Spans{Count: 2, P50: time.Second, P99: 4 * time.Second, Max: 4 * time.Second},
		Waits:  Spans{Count: 2, P50: 10 * time.Second, P99: 14 * time.Second, Max: 14 * time.Second},
		Recent: []Span{before, seconds(10, 12, 14), seconds(14, 13, 15)},
	}
	must.Equal(t, cmp.Diff(want, a.history()), "")
	if first.Grants != 1 || len(first.Recent) != 1 || first.Holds.Count != 0 {
		t.Errorf("a shared history changed: %+v", first)
	}
	a.send(16, Update{Gone: []ID{{"zk", "/l"}}})
	a.send(17, Update{Put: []*Lock{at(queueOf(t, "20"), 17)}})
	if h := a.history(); h.Grants != 3 || h.Holds.Count != 2 {
		t.Errorf("history of a lock that came back: %+v", h)
	}
}

func TestHistoryOmitsUnseenEvents(t *testing.T) {
	a := applying(t)
	down := *zkUp
	down.State = Down
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.send(1, Update{Put: []*Lock{at(queueOf(t, "12 13"), 1)}})
	a.send(2, Update{Backend: &down})
	a.send(60, Update{Backend: zkUp})
	a.send(61, Update{Put: []*Lock{at(queueOf(t, "13"), 61)}})
	h := a.history()
	if h.Holds.Count != 0 || h.Waits.Count != 1 || h.Grants != 2 || h.Handovers != 1 {
		t.Errorf("history %+v", h)
	}
	if last := h.Recent[len(h.Recent)-1]; !last.Ended.IsZero() || last.Granted.IsZero() {
		t.Errorf("a hold with an unseen end: %+v", last)
	}
	once := *zkUp
	once.Mode = ModeOnce
	b := applying(t)
	b.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: &once})
	b.send(1, Update{Put: []*Lock{at(queueOf(t, "12"), 1)}})
	must.True(t, b.history() == nil, "a backend that is read once has a history")
}

func TestOvertakingIsCountedPerWaiter(t *testing.T) {
	a := applying(t)
	name := func(n int) Untrusted { return Untrusted(fmt.Sprintf("%s__lock__%010d", guid, n)) }
	// Not a fair queue: 13 and then the latest, 15, are granted before 12.
	key := func(holder string, waiters ...string) *Lock {
		l := KeyLock(ID{"zk", "/l"}, ballots(holder), now)
		for _, w := range waiters {
			l.Waiters = append(l.Waiters, Contender{Name: Untrusted(w), State: Waiting})
		}
		return l
	}
	a.send(0, Update{Put: []*Lock{key("11", "12", "13", "14")}, Backend: zkUp})
	a.send(1, Update{Put: []*Lock{key("13", "12", "14")}})
	expectOvertaken(t, a.history(), map[Untrusted]int{"12": 1})
	a.send(2, Update{Put: []*Lock{key("15", "12", "14")}})
	expectOvertaken(t, a.history(), map[Untrusted]int{"12": 2, "14": 1})
	a.send(3, Update{Put: []*Lock{key("12", "14")}})
	expectOvertaken(t, a.history(), map[Untrusted]int{"14": 1})

	b := applying(t)
	b.send(0, Update{Put: []*Lock{queueOf(t, "11 12 r13")}, Backend: zkUp})
	b.send(1, Update{Put: []*Lock{at(queueOf(t, "12 r13"), 1)}})
	if h := b.history(); len(h.Overtaken) != 0 {
		t.Errorf("%v overtaken in a fair queue (%s)", h.Overtaken, name(12))
	}
}

// Readers hold the lock together, so granting one first does not overtake another.
func TestReadersDoNotOvertakeReaders(t *testing.T) {
	a := applying(t)
	key := func(holder string, mode recipe.Mode, waiters ...Contender) *Lock {
		l := KeyLock(ID{"zk", "/l"}, ballots(holder), now)
		l.Holders[0].Mode = mode
		l.Waiters = waiters
		return l
	}
	first, second := Contender{Name: "12", State: Waiting, Mode: recipe.Shared}, Contender{Name: "13", State: Waiting, Mode: recipe.Shared}
	writer := Contender{Name: "14", State: Waiting}
	a.send(0, Update{Put: []*Lock{key("11", recipe.Exclusive, first, writer, second)}, Backend: zkUp})
	a.send(1, Update{Put: []*Lock{key("13", recipe.Shared, first, writer)}})
	expectOvertaken(t, a.history(), map[Untrusted]int{"14": 1})
}

func expectOvertaken(t *testing.T, h *History, want map[Untrusted]int) {
	t.Helper()
	must.Equal(t, cmp.Diff(want, h.Overtaken), "")
}

func TestRenewalsAreDerivedFromExpiries(t *testing.T) {
	a := applying(t)
	key := func(holder string, second, ttl int) *Lock {
		v := ballots(holder)
		v[0].ExpiresAt = now.Add(time.Duration(second+ttl) * time.Second)
		return at(KeyLock(ID{"zk", "/l"}, v, now), second)
	}
	a.send(0, Update{Put: []*Lock{key("x", 0, 30)}, Backend: zkUp})
	for _, second := range []int{10, 20, 30, 40, 70, 80} { // two renewals are skipped
		a.send(second, Update{Put: []*Lock{key("x", second, 30)}})
	}
	want := Renewal{Count: 6, Every: 10 * time.Second, Last: now.Add(80 * time.Second), TTL: 30 * time.Second, Skipped: 2}
	must.Equal(t, cmp.Diff(want, a.history().Renewal), "")
	a.send(81, Update{Put: []*Lock{key("y", 81, 60)}})
	if h := a.history(); h.Renewal != (Renewal{}) || h.LongestTTL != time.Minute {
		t.Errorf("another holder: %+v", h)
	}
}

// Five masters that are renewed or read one after the other extend the quorum's TTL several times.
// That is one renewal.
func TestRenewalAcrossMastersCountsOnce(t *testing.T) {
	a := applying(t)
	const ttl = 6 * time.Second
	ends := []time.Duration{ttl, ttl, ttl, ttl, ttl}
	u := Update{Backend: zkUp}
	read := func(after time.Duration) {
		v := ballots("x x x x x")
		for i := range v {
			v[i].ExpiresAt = now.Add(ends[i])
		}
		l := KeyLock(ID{"zk", "/l"}, v, now.Add(after))
		u.Put = []*Lock{l}
		a.clock.at = now.Add(after)
		a.apply(sourceUpdate{0, u})
		u.Backend = nil
	}
	read(0)
	for renewal := 1; renewal <= 4; renewal++ {
		begun := time.Duration(renewal) * 2 * time.Second
		for i := range ends {
			after := begun + time.Duration(i)*220*time.Millisecond
			ends[i] = after + ttl
			read(after)
		}
	}
	r := a.history().Renewal
	if r.Count != 4 || r.Every != 2*time.Second || r.Skipped != 0 {
		t.Errorf("four renewals, 2 s apart, became %+v", r)
	}
}

// A slow read is off by its duration, which is not a renewal. A real renewal is dated by its key.
func TestSlowReadsAreNotRenewals(t *testing.T) {
	a := applying(t)
	u := Update{Backend: zkUp}
	for _, read := range []struct{ at, until time.Duration }{
		{0, 6000}, {300, 6140}, {900, 6290}, {1100, 6010}, // not renewed yet
		{3200, 8100}, {3300, 8000}, {4100, 10000}, {4900, 10200}, {6900, 12050},
	} {
		v := ballots("x")
		v[0].ExpiresAt = now.Add(read.until * time.Millisecond)
		u.Put = []*Lock{KeyLock(ID{"zk", "/l"}, v, now.Add(read.at*time.Millisecond))}
		a.clock.at = now.Add(read.at * time.Millisecond)
		a.apply(sourceUpdate{0, u})
		u.Backend = nil
	}
	if r := a.history().Renewal; r.Count != 3 || r.Every < 1900*time.Millisecond || r.Every > 2100*time.Millisecond || r.Skipped != 0 {
		t.Errorf("three renewals, 2 s apart, became %+v", r)
	}
}

// If the few intervals differ, the longer one is the usual one. Otherwise a client that renews
// twice in quick succession would look as if it had stopped.
func TestUsualIntervalPrefersTheLonger(t *testing.T) {
	a := applying(t)
	u := Update{Backend: zkUp}
	for _, second := range []int{0, 2, 4, 5} {
		v := ballots("x")
		v[0].ExpiresAt = now.Add(time.Duration(second+6) * time.Second)
		u.Put = []*Lock{at(KeyLock(ID{"zk", "/l"}, v, now), second)}
		a.send(second, u)
		u.Backend = nil
	}
	if r := a.history().Renewal; r.Count != 3 || r.Every != 2*time.Second {
		t.Errorf("%+v", r)
	}
}

// A renewal that falls into a gap does not count as skipped.
func TestGapRenewalsAreNotSkipped(t *testing.T) {
	a := applying(t)
	key := func(second, until int) []*Lock {
		v := ballots("x")
		v[0].ExpiresAt = now.Add(time.Duration(until) * time.Second)
		return []*Lock{at(KeyLock(ID{"zk", "/l"}, v, now.Add(time.Duration(second)*time.Second)), second)}
	}
	a.send(0, Update{Put: key(0, 30), Backend: zkUp})
	for _, second := range []int{10, 20, 30} {
		a.send(second, Update{Put: key(second, second+30)})
	}
	a.send(50, Update{Gap: &Gap{Backend: "zk", From: now.Add(31 * time.Second), Until: now.Add(50 * time.Second)}})
	a.send(51, Update{Put: key(51, 59)}) // as read from another server
	if r := a.history().Renewal; r.Count != 3 || !r.Last.Equal(now.Add(51*time.Second)) || r.Skipped != 0 {
		t.Errorf("%+v", r)
	}
}

// Reading an unchanged key again keeps the TTL of the first read as the longest. Otherwise a split
// vote would look new each time and never be reported.
func TestLongestTTLSurvivesRereads(t *testing.T) {
	a := applying(t)
	votes := ballots("x y z")
	for i := range votes {
		votes[i].ExpiresAt = now.Add(30 * time.Second)
	}
	for second := range 8 {
		a.send(second, Update{Put: []*Lock{at(KeyLock(ID{"zk", "/l"}, slices.Clone(votes), now), second)}, Backend: zkUp})
	}
	l := a.locks.get(ID{"zk", "/l"})
	if h := a.byName["zk"].historyOf(l); h == nil || h.LongestTTL != 30*time.Second {
		t.Errorf("%+v", h)
	}
}

// A flapping master changes how long a quorum lasts, which is not a renewal.
func TestFlappingMasterIsNotARenewal(t *testing.T) {
	a := applying(t)
	u := Update{Backend: zkUp}
	for second := range 12 {
		v := ballots("x x x")
		for i := range v {
			v[i].ExpiresAt = now.Add(time.Minute + time.Duration(i)*time.Second)
		}
		if second%2 == 1 {
			v[2] = Vote{Addr: v[2].Addr}
		}
		u.Put = []*Lock{at(KeyLock(ID{"zk", "/l"}, v, now), second)}
		a.send(second, u)
		u.Backend = nil
	}
	if h := a.history(); h != nil && h.Renewal != (Renewal{}) {
		t.Errorf("renewals %+v", h.Renewal)
	}
}

// The latest former locks keep their histories; older ones are dropped.
func TestHistoriesOfFormerLocksAreBounded(t *testing.T) {
	a := applying(t)
	come := func(path string, second int) {
		l := at(queueOf(t, strconv.Itoa(100+second)), second)
		l.ID.Path = path
		a.send(second, Update{Put: []*Lock{l}})
		a.send(second, Update{Gone: []ID{l.ID}})
	}
	a.send(0, Update{Backend: zkUp})
	come("/first", 1)
	for i := range 2 * formerLocks {
		come([]string{"/a", "/b"}[i%2], 2)
	}
	if len(a.former) != 3 || len(a.tracks) != 3 {
		t.Errorf("%d former locks, %d histories of three", len(a.former), len(a.tracks))
	}
	for i := range 2 * formerLocks {
		come("/"+strconv.Itoa(i), 3)
	}
	if len(a.former) > formerLocks || len(a.tracks) > formerLocks {
		t.Errorf("%d former locks, %d histories", len(a.former), len(a.tracks))
	}
}

func TestPercentilesOfManySpans(t *testing.T) {
	var d durations
	for i := range 1000 {
		d.add(time.Duration(i+1) * 10 * time.Millisecond)
		if i == 19 && d.spans() != (Spans{Count: 20, P50: 100 * time.Millisecond, P99: 200 * time.Millisecond, Max: 200 * time.Millisecond}) {
			t.Errorf("a few: %+v", d.spans())
		}
	}
	d.add(48 * time.Hour)
	if s := d.spans(); s != (Spans{Count: 1001, P50: 9510 * time.Millisecond, P99: 10 * time.Second, Max: 48 * time.Hour}) {
		t.Errorf("many: %+v", s)
	}
}
