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

// testConfig configures masters m0, m1 and so on.
func testConfig(masters int) Config {
	cfg := Config{Backend: "redis"}
	for i := range masters {
		cfg.Masters = append(cfg.Masters, &redis.UniversalOptions{Addrs: []string{fmt.Sprintf("m%d", i)}})
	}
	return cfg
}

// testedTable is a key table to which a test reports reads.
type testedTable struct{ *keyTable }

func testTable(masters int) testedTable {
	cfg := testConfig(masters)
	cfg.explicit = true
	return testedTable{newKeyTable(cfg, New(cfg).masters())}
}

// read records what masters answered about a key, and returns its lock if it changed.
func (b testedTable) read(key string, now time.Time, votes ...inspect.Vote) *inspect.Lock {
	b.add(key, now)
	for _, v := range votes {
		b.vote(int(v.Addr[1]-'0'), key, v, now)
	}
	l, _ := b.judge(key, now)
	return l
}

func held(master int, value inspect.Untrusted, left time.Duration, now time.Time) inspect.Vote {
	v := absent(master)
	v.Present, v.Value, v.ExpiresAt = true, value, now.Add(left)
	return v
}

func absent(master int) inspect.Vote { return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true} }

func foreign(master int, kind inspect.Untrusted) inspect.Vote {
	return inspect.Vote{Addr: fmt.Sprintf("m%d", master), Up: true, Present: true, Foreign: true, Value: kind}
}

func TestJudgingWaitsForEveryMaster(t *testing.T) {
	b := testTable(3)
	l := b.read("k", noon, held(0, "a", time.Second, noon), held(1, "a", time.Second, noon))
	must.True(t, l == nil, "judged without the third master", l)
	b.silence(2, errors.New("connection refused"), noon)
	l = b.read("k", noon)
	if l == nil || l.State != inspect.StateHeld || l.Votes() != 2 || l.Masters[2].Up {
		t.Errorf("%+v", l)
	}
}

func TestExpiryCountdownIsNotAChange(t *testing.T) {
	b := testTable(1)
	if b.read("k", noon, held(0, "a", 10*time.Second, noon)) == nil {
		t.Fatal("not judged")
	}
	for i := 1; i < 20; i++ {
		now := noon.Add(time.Duration(i) * 250 * time.Millisecond)
		wobble := time.Duration(i%5-2) * 10 * time.Millisecond
		if l := b.read("k", now, held(0, "a", 10*time.Second+wobble, noon)); l != nil {
			t.Fatalf("tick %d: reported without a change: %+v", i, l.Masters)
		}
	}
	renewed := noon.Add(5 * time.Second)
	must.True(t, b.read("k", renewed, held(0, "a", 10*time.Second, renewed)) != nil, "a renewal is not reported")
}

// A polled lock is reported again so that it does not look stale, more often near its expiry.
func TestAPolledLockIsReportedAgain(t *testing.T) {
	reported := func(left time.Duration, polled bool) (n int) {
		b := testTable(1)
		b.polled = polled
		for at := time.Duration(0); at <= 4*time.Second; at += 250 * time.Millisecond {
			if b.read("k", noon.Add(at), held(0, "a", left, noon)) != nil {
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
		before func(b testedTable)
		want   time.Time
	}{
		"pushed":                    {func(testedTable) {}, time.Time{}},
		"polled":                    {func(b testedTable) { b.polled = true }, read},
		"moved":                     {func(b testedTable) { b.entries["k"].unwatch(0, time.Time{}) }, read},
		"pushes were lost":          {func(b testedTable) { b.unwatch(0, read.Add(time.Minute)) }, read.Add(time.Minute)},
		"lost before the last read": {func(b testedTable) { b.unwatch(0, noon) }, read},
		"lost twice": {func(b testedTable) {
			b.unwatch(0, read.Add(time.Minute))
			b.unwatch(0, read.Add(2*time.Minute))
		}, read.Add(time.Minute)},
		"lost, then read": {func(b testedTable) {
			b.unwatch(0, read.Add(time.Minute))
			b.read("k", read.Add(2*time.Minute), held(0, "a", time.Hour, read.Add(2*time.Minute)))
		}, time.Time{}},
	} {
		b := testTable(1)
		b.read("k", noon, held(0, "a", time.Hour, noon))
		b.read("k", read, held(0, "a", time.Hour, read))
		tt.before(b)
		now := noon.Add(10 * time.Minute)
		if l := b.read("k", now, absent(0)); l == nil || !l.UnseenSince.Equal(tt.want) {
			t.Errorf("%s: %+v", name, l)
		}
		if l := b.read("k", now, held(0, "b", time.Hour, now)); l == nil || !b.polled && !l.UnseenSince.IsZero() {
			t.Errorf("%s: the next change has a bound too: %+v", name, l)
		}
	}
}

// A key that a pass found first is newer than the previous pass.
func TestDiscoveredKeyPostdatesPreviousPass(t *testing.T) {
	w := newWatchedRun(t)
	found := func(key string, after time.Duration, since time.Time, when string) {
		t.Helper()
		w.clock = noon.Add(after)
		w.discover([]string{key})
		w.appeared(key, since, when)
	}
	found("lock:first", time.Second, inspect.NeverSeen, "before any pass has ended")
	w.masters[0].resting.Store(true) // as after a pass that the server refused
	w.masters[0].inbox.add([]string{"lock:renewed"})
	w.read()
	w.appeared("lock:renewed", inspect.NeverSeen, "pushed before any pass has ended")
	w.pass(passed{master: 0, start: noon.Add(5 * time.Second)})
	found("lock:half", 6*time.Second, inspect.NeverSeen, "after a pass of one master")
	w.pass(passed{master: 1, start: noon.Add(4 * time.Second)})
	w.pass(passed{master: 1, start: noon.Add(6 * time.Second), err: errors.New("broken")})
	found("lock:second", 9*time.Second, noon.Add(4*time.Second), "after a pass of each master")
	w.add([]string{"lock:third"}) // as a push would
	w.appeared("lock:third", time.Time{}, "pushed")
}

// A verdict lasts until a quorum was last seen to agree, not until a master was last read.
func TestVerdictLastsWhileQuorumAgrees(t *testing.T) {
	b := testTable(5)
	b.polled = true
	after := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	var agreed []inspect.Vote
	for i := range 5 {
		agreed = append(agreed, held(i, "a", time.Hour, noon))
	}
	b.read("k", noon, agreed...)
	b.read("k", after(1), agreed[4]) // only this master is read again
	for i, change := range []struct {
		seconds int
		vote    inspect.Vote
	}{
		{5, absent(0)},
		{6, held(0, "b", time.Hour, noon)},
		{6, absent(1)},
		{7, absent(2)},
		{8, held(2, "b", time.Hour, noon)},
	} {
		if l := b.read("k", after(change.seconds), change.vote); l == nil || !l.UnseenSince.Equal(noon) {
			t.Errorf("after %d changes: %+v", i+1, l)
		}
	}
}

func TestLaterExpiryReplacesPassedOne(t *testing.T) {
	b := testTable(1)
	b.read("k", noon, held(0, "a", 100*time.Millisecond, noon))
	now := noon.Add(110 * time.Millisecond)
	late := held(0, "a", 20*time.Millisecond, now) // the first read was slow, so the key still has a little time
	if l := b.read("k", now, late); l == nil || !l.Masters[0].ExpiresAt.Equal(late.ExpiresAt) {
		t.Errorf("the later expiry is not used: %+v", l)
	}
}

func TestFreeLockStaysListedOneMinute(t *testing.T) {
	b := testTable(1)
	b.read("k", noon, held(0, "a", time.Second, noon))
	if l := b.read("k", noon, absent(0)); l == nil || l.State != inspect.StateFree {
		t.Fatalf("%+v", l)
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
	must.True(t, b.read("hash", noon, foreign(0, "hash")) == nil, "a hash is listed")
	if b.add("hash", noon.Add(time.Second)) || !b.add("hash", noon.Add(2*time.Minute)) {
		t.Error("read again too early or never")
	}
	b.read("short", noon, absent(0))
	must.True(t, b.add("short", noon), "an absent key is not read again")
	b.add("late", noon)
	b.silence(0, errors.New("no answer"), noon)
	b.judge("late", noon)
	must.True(t, b.add("late", noon), "a key of a silent master is not read again")
	secret := inspect.Vote{Addr: "m0", Error: "NOPERM", Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders, Right: "~secret"}}}
	b.read("secret", noon, secret)
	if b.add("secret", noon.Add(time.Second)) || !b.denied["secret"] {
		t.Error("an unreadable key is read again too early")
	}
}

func one(string) int { return 1 }

func TestChoosePrefersFocusThenRotates(t *testing.T) {
	b := testTable(1)
	for i := range 10 {
		b.read(fmt.Sprintf("k%d", i), noon, held(0, "a", time.Hour, noon))
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
		b.read(fmt.Sprintf("short:%d", i), noon, absent(0))
	}
	if len(b.ring) > 100 || len(b.entries) != 0 {
		t.Errorf("%d in the ring, %d entries", len(b.ring), len(b.entries))
	}
	b.read("list", noon, foreign(0, "list"))
	b.sweep(noon.Add(foreignFor))
	must.True(t, !b.add("list", noon.Add(foreignFor/2)), "read again too early")
	b.sweep(noon.Add(foreignFor + 2*rememberPostponed))
	must.Equal(t, len(b.foreign), 0, "remembered keys", b.foreign)
}

func TestChangedKeyIsReadWithinMinute(t *testing.T) {
	b := testTable(1)
	now := noon
	for range 3 { // put off for longer each time
		must.True(t, b.add("k", now), "not read at", now)
		b.read("k", now, foreign(0, "list"))
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
		l := testedTable{w.table}.read("lock:x", w.clock, foreign(0, ""), foreign(1, ""))
		must.True(t, l == nil, "a foreign key is a lock", l)
		for i := range w.masters { // a newer pass does not narrow that down
			w.pass(passed{master: i, start: noon.Add(foreignFor - 2*time.Second)})
		}
		w.clock = noon.Add(foreignFor + time.Second)
		if pushed {
			w.add([]string{"lock:x"}) // as a pushed renewal would
		} else {
			w.discover([]string{"lock:x"})
		}
		w.appeared("lock:x", noon, name)
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
	w.appeared("lock:x", noon.Add(4*time.Second), "with one master down")
}
