package inspect

import (
	"fmt"
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
		must.Equal(t, fmt.Sprint(l.State, l.Margin, agree), fmt.Sprint(tt.state, tt.margin, tt.agree), tt.votes)
		must.Equal(t, len(l.Holders) == 1, l.State == StateHeld, tt.votes, "has a holder")
		must.Equal(t, l.ValidUntil.IsZero(), l.State != StateHeld, tt.votes, "expires at an unknown time")
	}
	must.Equal(t, KeyLock(ID{"redis", "app:leader"}, ballots("x"), now).Kind, KindElection)
}

func TestValidityUsesQuorumExpiryMinusDrift(t *testing.T) {
	l := KeyLock(ID{"redis", "k"}, ballots("x x x x -"), now) // TTLs 1, 2, 3, 4 s: three masters last 2 s
	must.Equal(t, l.ValidUntil.Sub(now), 2*time.Second-20*time.Millisecond-2*time.Millisecond, "valid for")
}

func TestQuorumWithoutExpiryNeverExpires(t *testing.T) {
	votes := ballots("x x x")
	votes[0].NoExpiry, votes[0].ExpiresAt = true, time.Time{}
	l := KeyLock(ID{"redis", "k"}, votes, now)
	must.True(t, !l.Holders[0].NoExpiry, "a holder with two of three keys that expire never ends")
	must.Equal(t, l.Holders[0].ExpiresAt, now.Add(3*time.Second), "two of three keys expire: holder ends")
	votes[1].NoExpiry, votes[1].ExpiresAt = true, time.Time{}
	l = KeyLock(ID{"redis", "k"}, votes, now)
	must.True(t, l.Holders[0].NoExpiry && l.ValidUntil.IsZero(), "a quorum without expiry", l.Holders[0])
}

// permits makes one vote per word on a semaphore: a letter per holder, or "-" absent.
func permits(words ...string) (votes []Vote) {
	for i, word := range words {
		v := Vote{Addr: string(rune('a' + i)), Up: true, ReadAt: now, Present: word != "-"}
		if v.Present {
			v.Held = &recipe.Record{Recipe: "x", Confidence: recipe.Certain, Kind: "semaphore"}
			for _, name := range word {
				v.Held.Claims = append(v.Held.Claims, recipe.Claim{Name: string(name), ExpiresAt: now.Add(time.Minute)})
			}
		}
		votes = append(votes, v)
	}
	return votes
}

// A semaphore's permits do not compete. Two clients whose attempts failed halfway do not split a
// quorum.
func TestPermitsWithoutQuorumAreNotSplit(t *testing.T) {
	for _, tt := range []struct {
		votes   []Vote
		state   State
		holders int
		ballot  string
	}{
		{permits("x", "y", "-"), StateMinority, 0, "1·1"},
		{permits("xy", "y", "z"), StateHeld, 1, "2·1·1"},
		{permits("xy", "yx", "z"), StateHeld, 2, "2·2·1"},
		{permits("", "", "-"), StateFree, 0, ""},
	} {
		l := KeyLock(ID{"redis", "semaphore:k"}, tt.votes, now)
		must.Equal(t, fmt.Sprint(l.Kind, l.State, len(l.Holders)), fmt.Sprint(KindSemaphore, tt.state, tt.holders), tt.votes)
		must.Equal(t, l.Ballot(), tt.ballot, tt.votes)
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
		must.Equal(t, len(was.Waiters), tt.waiters, tt.kind)
		must.Equal(t, was.State == StateContended, tt.waiters > 0, tt.kind, "is contended")
		must.Equal(t, int(was.Holders[0].BlockedBelow), tt.waiters, tt.kind)
		must.Equal(t, short(compare(was, is, view{at: now})), "", tt.kind)
	}
}
