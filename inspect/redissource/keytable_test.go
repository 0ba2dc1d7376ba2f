package redissource

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testTable(masters int) *keyTable {
	cfg := Config{Backend: "redis", explicit: true}
	for i := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{fmt.Sprintf("m%d", i)}})
	}
	return newKeyTable(cfg, New(cfg).masters())
}

func held(master int, value inspect.Untrusted, left time.Duration, now time.Time) inspect.Vote {
	return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true, Present: true, Value: value, ExpiresAt: now.Add(left)}
}

func absent(master int) inspect.Vote { return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true} }

func TestJudgingWaitsForEveryMaster(t *testing.T) {
	b := testTable(3)
	b.add("k", noon)
	b.vote(0, "k", held(0, "a", time.Second, noon), noon)
	b.vote(1, "k", held(1, "a", time.Second, noon), noon)
	if l, gone := b.judge("k", noon); l != nil || gone {
		t.Fatalf("judged without the third master: %+v", l)
	}
	b.silence(2, errors.New("connection refused"), noon)
	l, _ := b.judge("k", noon)
	if l == nil || l.State != inspect.StateHeld || l.Votes() != 2 || l.Masters[2].Up {
		t.Fatalf("%+v", l)
	}
}

func TestExpiryCountdownIsNotAChange(t *testing.T) {
	b := testTable(1)
	b.add("k", noon)
	b.vote(0, "k", held(0, "a", 10*time.Second, noon), noon)
	first, _ := b.judge("k", noon)
	if first == nil {
		t.Fatal("not judged")
	}
	for i := 1; i < 20; i++ {
		now := noon.Add(time.Duration(i) * 250 * time.Millisecond)
		wobble := time.Duration(i%5-2) * 10 * time.Millisecond
		b.vote(0, "k", held(0, "a", 10*time.Second-now.Sub(noon)+wobble, now), now)
		if l, _ := b.judge("k", now); l != nil {
			t.Fatalf("tick %d: reported without a change: %+v", i, l.Masters)
		}
	}
	renewed := noon.Add(5 * time.Second)
	b.vote(0, "k", held(0, "a", 10*time.Second, renewed), renewed)
	if l, _ := b.judge("k", renewed); l == nil {
		t.Error("a renewal is not reported")
	}
}

// A polled lock is reported again so that it does not look stale, more often near its expiry.
func TestAPolledLockIsReportedAgain(t *testing.T) {
	reported := func(left time.Duration, polled bool) (n int) {
		b := testTable(1)
		b.polled = polled
		b.add("k", noon)
		for at := time.Duration(0); at <= 4*time.Second; at += 250 * time.Millisecond {
			now := noon.Add(at)
			b.vote(0, "k", held(0, "a", left-at, now), now)
			if l, _ := b.judge("k", now); l != nil {
				n++
			}
		}
		return n
	}
	must.Equal(t, reported(time.Hour, false), 1, "reports of a pushed lock in 4 s")
	must.Equal(t, reported(time.Hour, true), 3, "reports of a polled lock in 4 s")
	if n := reported(4500*time.Millisecond, true); n < 6 {
		t.Errorf("reported %d times in its last 4 s, want at least 6", n)
	}
}

// A change that no push reported happened after the last read of the previous state, or after
// pushes were lost.
func TestUnreportedChangeHasLowerBound(t *testing.T) {
	read := noon.Add(time.Second) // the last read before the change, unless a case reads again
	for name, tt := range map[string]struct {
		before func(b *keyTable)
		want   time.Time
	}{
		"pushed":                    {func(*keyTable) {}, time.Time{}},
		"polled":                    {func(b *keyTable) { b.polled = true }, read},
		"moved":                     {func(b *keyTable) { b.entries["k"].unwatch(0, time.Time{}) }, read},
		"pushes were lost":          {func(b *keyTable) { b.unwatch(0, read.Add(time.Minute)) }, read.Add(time.Minute)},
		"lost before the last read": {func(b *keyTable) { b.unwatch(0, noon) }, read},
		"lost twice": {func(b *keyTable) {
			b.unwatch(0, read.Add(time.Minute))
			b.unwatch(0, read.Add(2*time.Minute))
		}, read.Add(time.Minute)},
		"lost, then read": {func(b *keyTable) {
			b.unwatch(0, read.Add(time.Minute))
			b.vote(0, "k", held(0, "a", time.Hour, read.Add(2*time.Minute)), read.Add(2*time.Minute))
			b.judge("k", read.Add(2*time.Minute))
		}, time.Time{}},
	} {
		b := testTable(1)
		b.add("k", noon)
		for _, now := range []time.Time{noon, read} {
			b.vote(0, "k", held(0, "a", time.Hour, now), now)
			b.judge("k", now)
		}
		tt.before(b)
		now := noon.Add(10 * time.Minute)
		b.vote(0, "k", absent(0), now)
		if l, _ := b.judge("k", now); l == nil || !l.UnseenSince.Equal(tt.want) {
			t.Errorf("%s: %+v", name, l)
		}
		b.vote(0, "k", held(0, "b", time.Hour, now), now)
		if l, _ := b.judge("k", now); l == nil || !b.polled && !l.UnseenSince.IsZero() {
			t.Errorf("%s: the next change has a bound too: %+v", name, l)
		}
	}
}

// A key that a pass found first is newer than the previous pass.
func TestDiscoveredKeyPostdatesPreviousPass(t *testing.T) {
	w := newWatchedRun(t)
	found := func(key string, after time.Duration) *inspect.Lock {
		w.clock = noon.Add(after)
		w.discover([]string{key})
		for i := range w.masters {
			w.table.vote(i, key, held(i, "a", time.Hour, w.clock), w.clock)
		}
		l, _ := w.table.judge(key, w.clock)
		return l
	}
	if l := found("lock:first", time.Second); l == nil || !l.UnseenSince.Equal(inspect.NeverSeen) {
		t.Errorf("before any pass has ended: %+v", l)
	}
	w.masters[0].resting.Store(true) // as after a pass that the server refused
	w.masters[0].inbox.add([]string{"lock:renewed"})
	w.read()
	for i := range w.masters {
		w.table.vote(i, "lock:renewed", held(i, "a", time.Hour, w.clock), w.clock)
	}
	if l, _ := w.table.judge("lock:renewed", w.clock); l == nil || !l.UnseenSince.Equal(inspect.NeverSeen) {
		t.Errorf("pushed before any pass has ended: %+v", l)
	}
	w.pass(passed{master: 0, start: noon.Add(5 * time.Second)})
	if l := found("lock:half", 6*time.Second); l == nil || !l.UnseenSince.Equal(inspect.NeverSeen) {
		t.Errorf("after a pass of one master: %+v", l)
	}
	w.pass(passed{master: 1, start: noon.Add(4 * time.Second)})
	w.pass(passed{master: 1, start: noon.Add(6 * time.Second), err: errors.New("broken")})
	if l := found("lock:second", 9*time.Second); l == nil || !l.UnseenSince.Equal(noon.Add(4*time.Second)) {
		t.Errorf("after a pass of each master: %+v", l)
	}
	w.add([]string{"lock:third"}) // as a push would
	for i := range w.masters {
		w.table.vote(i, "lock:third", held(i, "a", time.Hour, w.clock), w.clock)
	}
	if l, _ := w.table.judge("lock:third", w.clock); l == nil || !l.UnseenSince.IsZero() {
		t.Errorf("pushed: %+v", l)
	}
}

// A verdict lasts until a quorum was last seen to agree, not until a master was last read.
func TestVerdictLastsWhileQuorumAgrees(t *testing.T) {
	b := testTable(5)
	b.polled = true
	b.add("k", noon)
	after := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i := range 5 {
		b.vote(i, "k", held(i, "a", time.Hour, noon), noon)
	}
	b.judge("k", noon)
	b.vote(4, "k", held(4, "a", time.Hour, noon), after(1)) // only this master is read again
	b.judge("k", after(1))
	for i, change := range []struct {
		master, seconds int
		value           inspect.Untrusted
	}{{0, 5, ""}, {0, 6, "b"}, {1, 6, ""}, {2, 7, ""}, {2, 8, "b"}} {
		v := absent(change.master)
		if change.value != "" {
			v = held(change.master, change.value, time.Hour, noon)
		}
		b.vote(change.master, "k", v, after(change.seconds))
		if l, _ := b.judge("k", after(change.seconds)); l == nil || !l.UnseenSince.Equal(noon) {
			t.Errorf("after %d changes: %+v", i+1, l)
		}
	}
}

func TestLaterExpiryReplacesPassedOne(t *testing.T) {
	b := testTable(1)
	b.add("k", noon)
	b.vote(0, "k", held(0, "a", 100*time.Millisecond, noon), noon)
	b.judge("k", noon)
	now := noon.Add(110 * time.Millisecond)
	b.vote(0, "k", held(0, "a", 20*time.Millisecond, now), now) // the first read was slow, so the key still has a little time
	if l, _ := b.judge("k", now); l == nil || !l.Masters[0].ExpiresAt.Equal(now.Add(20*time.Millisecond)) {
		t.Errorf("the later expiry is not used: %+v", l)
	}
}

func TestFreeLockStaysListedOneMinute(t *testing.T) {
	b := testTable(1)
	b.add("k", noon)
	b.vote(0, "k", held(0, "a", time.Second, noon), noon)
	b.judge("k", noon)
	b.vote(0, "k", absent(0), noon)
	if l, gone := b.judge("k", noon); l == nil || l.State != inspect.StateFree || gone {
		t.Fatalf("%+v %v", l, gone)
	}
	if l, gone := b.judge("k", noon.Add(59*time.Second)); l != nil || gone {
		t.Errorf("too early: %+v %v", l, gone)
	}
	if _, gone := b.judge("k", noon.Add(61*time.Second)); !gone || len(b.entries) != 0 {
		t.Error("still listed after a minute")
	}
}

func TestOtherKeysAreSkippedTemporarily(t *testing.T) {
	b := testTable(1)
	b.add("hash", noon)
	b.vote(0, "hash", inspect.Vote{Addr: "m0", Up: true, Present: true, Foreign: true, Value: "hash"}, noon)
	if l, _ := b.judge("hash", noon); l != nil {
		t.Errorf("a hash is listed: %+v", l)
	}
	if b.add("hash", noon.Add(time.Second)) || !b.add("hash", noon.Add(2*time.Minute)) {
		t.Error("read again too early or never")
	}
	b.add("short", noon)
	b.vote(0, "short", absent(0), noon)
	b.judge("short", noon)
	must.True(t, b.add("short", noon), "an absent key is not read again")
	b.add("late", noon)
	b.silence(0, errors.New("no answer"), noon)
	b.judge("late", noon)
	must.True(t, b.add("late", noon), "a key of a silent master is not read again")
	b.add("secret", noon)
	b.vote(0, "secret", inspect.Vote{Addr: "m0", Error: "NOPERM", Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders, Right: "~secret"}}}, noon)
	b.judge("secret", noon)
	if b.add("secret", noon.Add(time.Second)) || !b.denied["secret"] {
		t.Error("an unreadable key is read again too early")
	}
}

func one(string) int { return 1 }

func TestChoosePrefersFocusThenRotates(t *testing.T) {
	b := testTable(1)
	for i := range 10 {
		key := fmt.Sprintf("k%d", i)
		b.add(key, noon)
		b.vote(0, key, held(0, "a", time.Hour, noon), noon)
	}
	focus := map[string]bool{"k9": true, "unknown": true}
	seen := map[string]int{}
	for range 9 {
		chosen := b.choose(3, one, focus)
		if len(chosen) != 3 || chosen[0] != "k9" {
			t.Fatalf("chosen %v", chosen)
		}
		for _, key := range chosen {
			seen[key]++
		}
	}
	for i := range 9 {
		if n := seen[fmt.Sprintf("k%d", i)]; n < 1 || n > 3 {
			t.Errorf("k%d was read %d times in 9 ticks of 3: %v", i, n, seen)
		}
	}
	delete(b.entries, "k3")
	for range 4 {
		must.True(t, !slices.Contains(b.choose(3, one, nil), "k3"), "a removed key is read")
	}
}

func TestShortLivedKeysAreForgotten(t *testing.T) {
	b := testTable(1)
	for i := range 10_000 {
		key := fmt.Sprintf("short:%d", i)
		b.add(key, noon)
		b.vote(0, key, absent(0), noon)
		b.judge(key, noon)
	}
	if len(b.ring) > 100 || len(b.entries) != 0 {
		t.Errorf("%d in the ring, %d entries", len(b.ring), len(b.entries))
	}
	b.add("list", noon)
	b.vote(0, "list", inspect.Vote{Addr: "m0", Up: true, Present: true, Foreign: true, Value: "list"}, noon)
	b.judge("list", noon)
	b.sweep(noon.Add(foreignFor))
	must.True(t, !b.add("list", noon.Add(foreignFor/2)), "read again too early")
	b.sweep(noon.Add(foreignFor + 2*rememberPostponed))
	must.Equal(t, len(b.foreign), 0, "remembered keys", b.foreign)
}

func TestChangedKeyIsReadWithinMinute(t *testing.T) {
	b := testTable(1)
	now := noon
	for range 3 { // put off for longer each time
		if !b.add("k", now) {
			t.Fatal("not read")
		}
		b.vote(0, "k", inspect.Vote{Addr: "m0", Up: true, Present: true, Foreign: true, Value: "list"}, now)
		b.judge("k", now)
		now = b.foreign["k"].until
	}
	last := now.Add(-b.foreign["k"].wait)
	b.recheck("k")
	b.recheck("k")
	if b.add("k", last.Add(foreignFor-time.Second)) || !b.add("k", last.Add(foreignFor)) {
		t.Errorf("put off until %v", b.foreign["k"].until.Sub(last))
	}
}

// A key that was not a lock is left alone for a while. It may have become a lock at any time since.
func TestSkippedKeyMayHaveBecomeLock(t *testing.T) {
	for name, pushed := range map[string]bool{"found by a pass": false, "pushed": true} {
		w := newWatchedRun(t)
		w.discover([]string{"lock:x"})
		foreign := inspect.Vote{Up: true, Present: true, Foreign: true}
		for i := range w.masters {
			w.table.vote(i, "lock:x", foreign, w.clock)
		}
		if l, _ := w.table.judge("lock:x", w.clock); l != nil {
			t.Fatalf("%+v", l)
		}
		for i := range w.masters { // a newer pass does not narrow that down
			w.pass(passed{master: i, start: noon.Add(foreignFor - 2*time.Second)})
		}
		w.clock = noon.Add(foreignFor + time.Second)
		if pushed {
			w.add([]string{"lock:x"}) // as a pushed renewal would
		} else {
			w.discover([]string{"lock:x"})
		}
		for i := range w.masters {
			w.table.vote(i, "lock:x", held(i, "a", time.Hour, w.clock), w.clock)
		}
		if l, _ := w.table.judge("lock:x", w.clock); l == nil || !l.UnseenSince.Equal(noon) {
			t.Errorf("%s: unseen since %v after the last read", name, l.UnseenSince.Sub(noon))
		}
	}
}

// A master that is down or was never scanned does not change what the others' passes prove.
func TestUnscannedMasterDoesNotAffectDates(t *testing.T) {
	w := newWatchedRun(t)
	w.down(w.masters[1], errors.New("connection refused"))
	w.pass(passed{master: 0, start: noon.Add(4 * time.Second)})
	w.pass(passed{master: 1, start: noon.Add(4 * time.Second), err: errors.New("connection refused")})
	w.clock = noon.Add(20 * time.Second)
	w.discover([]string{"lock:x"})
	w.table.vote(0, "lock:x", held(0, "a", time.Hour, w.clock), w.clock)
	if l, _ := w.table.judge("lock:x", w.clock); l == nil || !l.UnseenSince.Equal(noon.Add(4*time.Second)) {
		t.Errorf("unseen since %v", l.UnseenSince)
	}
}

// Before a master's first pass, its keys may have existed for any time.
func TestUnscannedMastersKeysWereNeverSeen(t *testing.T) {
	w := newWatchedRun(t)
	w.backend.Last = &inspect.Backend{FirstPass: true}
	w.discover([]string{"lock:x"})
	for i := range w.masters {
		w.table.vote(i, "lock:x", held(i, "a", time.Hour, w.clock), w.clock)
	}
	if l, _ := w.table.judge("lock:x", w.clock); l == nil || !l.UnseenSince.Equal(inspect.NeverSeen) {
		t.Errorf("%+v", l)
	}
}
