package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

var now = time.Date(2026, 11, 21, 9, 0, 10, 0, time.UTC)

// ballots makes one vote per word: a value, "-" absent, "!" down, "?" wrong type, or "." for a
// master that is not asked. "*" marks an unsure one.
func ballots(words string) []Vote {
	var votes []Vote
	for i, w := range strings.Fields(words) {
		if w == "." {
			continue
		}
		w, unsure := strings.CutSuffix(w, "*")
		v := Vote{Unsure: unsure, Addr: string(rune('a' + i)), Up: w != "!", Present: w != "-" && w != "!", Foreign: w == "?"}
		if v.Present && !v.Foreign {
			v.Value, v.ExpiresAt = Untrusted(w), now.Add(time.Duration(i+1)*time.Second)
		}
		votes = append(votes, v)
	}
	return votes
}

func TestVotesDecideTheState(t *testing.T) {
	for _, tt := range []struct {
		votes  string
		state  State
		margin int
		agree  string // masters whose vote counts
	}{
		{"x x x x x", StateHeld, 2, "abcde"},
		{"x x x - !", StateHeld, 0, "abc"},
		{"x x y y z", StateSplit, -1, ""},
		{"x x y - -", StateSplit, -1, "ab"},
		{"x x y y !", StateUnknown, -1, ""},
		{"x - - - -", StateMinority, -2, "a"},
		{"x x - - -", StateMinority, -1, "ab"},
		{"x x - - !", StateUnknown, -1, "ab"},
		{"x - - ! !", StateUnknown, -2, "a"},
		{"- - - - -", StateFree, -3, ""},
		{"- - - ! !", StateFree, -3, ""},
		{"- - ! ! !", StateUnknown, -3, ""},
		{"! ! ! ! !", StateUnknown, -3, ""},
		{"x", StateHeld, 0, "a"},
		{"-", StateFree, -1, ""},
		{"!", StateUnknown, -1, ""},
		{"?", StateUnknown, -1, ""},
		{"x x - -", StateMinority, -1, "ab"},
		{"x x x -", StateHeld, 0, "abc"},
	} {
		l := KeyLock(ID{"redis", "k"}, ballots(tt.votes), now)
		agree := ""
		for _, m := range l.Masters {
			if m.Agrees {
				agree += m.Addr
			}
		}
		if l.State != tt.state || l.Margin != tt.margin || agree != tt.agree {
			t.Errorf("%s: %s, margin %d, votes of %q; want %s, %d, %q", tt.votes, l.State, l.Margin, agree, tt.state, tt.margin, tt.agree)
		}
		if held := l.State == StateHeld; held != (len(l.Holders) == 1) || held == l.ValidUntil.IsZero() {
			t.Errorf("%s: %d holders, valid until %v", tt.votes, len(l.Holders), l.ValidUntil)
		}
	}
}

func TestValidityUsesQuorumExpiryMinusDrift(t *testing.T) {
	l := KeyLock(ID{"redis", "k"}, ballots("x x x x -"), now) // TTLs 1, 2, 3, 4 s: three masters last 2 s
	must.Equal(t, l.ValidUntil.Sub(now), 2*time.Second-20*time.Millisecond-2*time.Millisecond, "valid for")
}

func TestQuorumWithoutExpiryNeverExpires(t *testing.T) {
	votes := ballots("x x x")
	votes[0].NoExpiry, votes[0].ExpiresAt = true, time.Time{}
	l := KeyLock(ID{"redis", "k"}, votes, now)
	if l.Holders[0].NoExpiry || !l.Holders[0].ExpiresAt.Equal(now.Add(3*time.Second)) {
		t.Errorf("one key without expiry and two with: holder ends %v, %v", l.Holders[0].ExpiresAt, l.Holders[0].NoExpiry)
	}
	votes[1].NoExpiry, votes[1].ExpiresAt = true, time.Time{}
	l = KeyLock(ID{"redis", "k"}, votes, now)
	if !l.Holders[0].NoExpiry || !l.ValidUntil.IsZero() {
		t.Errorf("a quorum without expiry: %+v", l.Holders[0])
	}
}

// A semaphore's permits do not compete. Two clients whose attempts failed halfway do not split a
// quorum.
func TestPermitsWithoutQuorumAreNotSplit(t *testing.T) {
	semaphore := func(members ...string) Vote {
		r := &recipe.Record{Recipe: "redis-semaphore", Confidence: recipe.Likely, Kind: "semaphore"}
		for _, m := range members {
			r.Claims = append(r.Claims, recipe.Claim{Name: m, ExpiresAt: now.Add(time.Second)})
		}
		return Vote{Addr: strings.Join(members, ""), Up: true, Present: len(members) > 0, Held: r, ExpiresAt: now.Add(time.Second)}
	}
	for _, tt := range []struct {
		votes   []Vote
		state   State
		holders int
	}{
		{[]Vote{semaphore("x"), semaphore("y"), {Up: true}}, StateMinority, 0},
		{[]Vote{semaphore("x", "y"), semaphore("y"), semaphore("z")}, StateHeld, 1},
		{[]Vote{semaphore("x", "y"), semaphore("y", "x"), semaphore("z")}, StateHeld, 2},
	} {
		if l := KeyLock(ID{"redis", "semaphore:k"}, tt.votes, now); l.State != tt.state || len(l.Holders) != tt.holders || l.Kind != KindSemaphore {
			t.Errorf("%+v: %s, %d holders, a %s", tt.votes, l.State, len(l.Holders), l.Kind)
		}
	}
}

// A mutex's queue may be read before its first waiter is granted, and the key afterwards. A holder
// is not listed as a waiter then, but a reader may wait to become a writer.
func TestMutexHolderIsNotAWaiter(t *testing.T) {
	for _, tt := range []struct {
		kind    string
		masters int
		waiters int
	}{
		{"mutex", 1, 0},
		{"mutex", 3, 0},
		{"rw", 1, 1},
		{"semaphore", 1, 1},
	} {
		lock := func(waits bool) *Lock {
			r := &recipe.Record{Recipe: "x", Confidence: recipe.Certain, Kind: tt.kind, Claims: []recipe.Claim{{Name: "a", Mode: recipe.Shared, ExpiresAt: now.Add(time.Second)}}}
			if waits {
				r.Claims = append(r.Claims, recipe.Claim{Name: "a", Waiting: true})
			}
			return KeyLock(ID{"redis", "lock:k"}, slices.Repeat([]Vote{{Addr: "m", Up: true, Present: true, Held: r, ExpiresAt: now.Add(time.Second)}}, tt.masters), now)
		}
		was, is := lock(true), lock(false)
		if len(was.Waiters) != tt.waiters || was.State == StateContended != (tt.waiters > 0) || int(was.Holders[0].BlockedBelow) != tt.waiters {
			t.Errorf("a %s: %s, %+v waits", tt.kind, was.State, was.Waiters)
		}
		expect(t, tt.kind, short(compare(was, is, view{at: now})), "")
	}
}
