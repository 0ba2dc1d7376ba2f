package inspect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// unlabelled removes the labels of all entries.
func unlabelled(locks ...*Lock) []*Lock {
	for _, l := range locks {
		for c := range l.Contenders {
			c.Owner.Label = ""
		}
	}
	return locks
}

// withCzxids sets the czxids of all entries, in order.
func withCzxids(locks []*Lock, czxids ...int64) []*Lock {
	for _, l := range locks {
		for c := range l.Contenders {
			c.Czxid, czxids = czxids[0], czxids[1:]
		}
	}
	return locks
}

// judged formats each cycle as its locks and certainty.
func judged(cycles []Cycle) string {
	var words []string
	for i := range cycles {
		locks := each.Of(cycles[i].Locks, func(id ID) string { return id.Path })
		words = append(words, strings.Join(locks, " ")+" "+string(cycles[i].Certainty()))
	}
	return strings.Join(words, ", ")
}

// In a chain, a word's first letter is the session and the whole word the label. "a1" and "a2" are
// two threads of session a.
func TestThreadsThatShareASession(t *testing.T) {
	upgrade := chain("1", "r:a", "r:b", "a", "b")
	for name, tt := range map[string]struct {
		locks []*Lock
		want  string
	}{
		"labels tell threads apart":        {[]*Lock{chain("1", "a1", "b2"), chain("2", "b1", "a2")}, ""},
		"a deadlock of labelled threads":   {[]*Lock{chain("1", "a1", "b1", "a2"), chain("2", "b1", "a1", "b2")}, "/1 /2 likely"},
		"two threads of one session":       {[]*Lock{chain("1", "a1", "a2"), chain("2", "a2", "a1")}, "/1 /2 likely"},
		"a label elsewhere counts":         {[]*Lock{chain("1", "a1", "b"), chain("2", "b", "a1"), chain("3", "a2")}, "/1 /2 likely"},
		"one label twice in queues":        {[]*Lock{chain("1", "a1", "b1"), chain("2", "b1", "a1"), chain("3", "x", "a1", "a2")}, "/1 /2 possible"},
		"no labels, two entries each":      {unlabelled(chain("1", "a", "b"), chain("2", "b", "a")), "/1 /2 likely"},
		"no labels, three entries":         {unlabelled(chain("1", "a", "b"), chain("2", "b", "a"), chain("3", "a")), "/1 /2 possible"},
		"no labels, two waits":             {unlabelled(chain("1", "a", "b"), chain("2", "b", "a"), chain("3", "x", "a")), "/1 /2 possible"},
		"one label for all, three entries": {[]*Lock{chain("1", "a", "b"), chain("2", "b", "a"), chain("3", "a")}, "/1 /2 possible"},
		"granted a lock while waiting":     {withCzxids(unlabelled(chain("1", "a", "b"), chain("2", "b", "a")), 4, 5, 1, 2), "/1 /2 possible"},
		"each waited after it had a lock":  {withCzxids(unlabelled(chain("1", "a", "b"), chain("2", "b", "a")), 1, 4, 2, 3), "/1 /2 likely"},
		"labels on some entries":           {append(unlabelled(chain("1", "a", "b")), chain("2", "b", "a")), "/1 /2 likely"},
		"no label next to several": {
			append(unlabelled(chain("1", "a", "b"), chain("2", "b", "a")), chain("3", "a1", "a2")), "/1 /2 possible",
		},
		"threads that a library names":       {[]*Lock{chain("1", "!7", "!8"), chain("2", "!8", "!7"), chain("3", "!7")}, "/1 /2 likely"},
		"two readers that want to write":     {[]*Lock{upgrade}, "/1 /1 likely"},
		"likely and possible in one queue":   {append(unlabelled(chain("1", "a", "b", "c"), chain("2", "b", "a")), unlabelled(chain("3", "c", "a"))...), "/1 /2 possible, /1 /3 possible"},
		"behind a session of many threads":   {append(unlabelled(chain("1", "a", "m", "b"), chain("2", "b", "a")), unlabelled(chain("3", "m", "x"), chain("4", "x", "m"))...), "/1 /2 likely, /3 /4 possible"},
		"the same two wait on three of them": {unlabelled(chain("1", "a", "b"), chain("2", "b", "a"), chain("3", "a", "b")), "/1 /2 possible, /2 /3 possible"},
	} {
		must.Equal(t, judged(findCycles(slices.Values(tt.locks))), tt.want, name)
	}
}

// aged makes all contenders unchanged for a time.
func aged(age time.Duration, locks ...*Lock) []*Lock {
	for _, l := range locks {
		for c := range l.Contenders {
			c.Seen = now.Add(-age)
		}
	}
	return locks
}

func TestMovingLockIsNotDeadlocked(t *testing.T) {
	ring := func() []*Lock { return aged(time.Minute, chain("1", "a", "b"), chain("2", "b", "a")) }
	young := now.Add(-SettleFor / 2)
	for name, tt := range map[string]struct {
		change func(one, two *Lock)
		want   string
	}{
		"unchanged":    {func(_, _ *Lock) {}, "/1 /2 likely"},
		"a new holder": {func(one, _ *Lock) { one.Holders[0].Seen = young }, ""},
		"a new waiter": {func(_, two *Lock) { two.Waiters[0].Seen = young }, ""},
		"a new waiter behind": {func(one, _ *Lock) {
			one.Waiters = append(one.Waiters, chain("3", "x", "y").Waiters[0])
			one.Waiters[1].Seen = young
		}, "/1 /2 likely"},
		"a queue that moves": {func(one, two *Lock) {
			one.Waiters = append(one.Holders, one.Waiters...)
			one.Waiters[0].State = Waiting
			one.Holders = chain("1", "x").Holders
			one.Holders[0].Seen = young
			one.Holders[0].Name = "new"
		}, ""},
		"one more reader": {func(one, _ *Lock) {
			one.Holders[0].Mode = recipe.Shared
			r := one.Holders[0]
			r.Name, r.Seen, r.Owner.Session = "r", young, 99
			one.Holders = append(one.Holders, r)
		}, "/1 /2 likely"},
		"no holder at the moment": {func(one, _ *Lock) { one.Holders = nil }, ""},
	} {
		locks := ring()
		tt.change(locks[0], locks[1])
		must.Equal(t, judged(new(deadlockSearch).find(slices.Values(locks), now)), tt.want, name)
	}
}

// A cycle is found and stays while others come and go on the same locks and with the same owners.
func TestADeadlockStaysAmongOthers(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		standing := unlabelled(aged(time.Minute, chain("1", "a", "b"), chain("2", "b", "a"))...)
		var s deadlockSearch
		for step := range 50 {
			locks := slices.Clone(standing)
			at := now.Add(time.Duration(step) * SettleFor)
			for i := range random.IntN(6) { // entries of the two owners and of others
				who := []string{"a", "b", "c", "d"}
				random.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
				locks = append(locks, unlabelled(aged(time.Minute, chain(fmt.Sprint("other", step, i), who[:2+random.IntN(3)]...))...)...)
			}
			random.Shuffle(len(locks), func(i, j int) { locks[i], locks[j] = locks[j], locks[i] })
			cycles := s.find(slices.Values(locks), at)
			is := func(c Cycle) bool { return slices.Equal(c.Locks, []ID{{"zk", "/1"}, {"zk", "/2"}}) }
			must.True(t, slices.ContainsFunc(cycles, is), "seed", seed, "step", step, judged(cycles))
		}
		gone := chain("2", "b")
		must.Equal(t, judged(s.find(slices.Values(append(aged(time.Minute, gone), standing[0])), now)), "", "its end")
	}
}

// A likely cycle comes before any number of possible ones, whose sessions may have several threads.
func TestLikelyDeadlockIsFoundAmongMany(t *testing.T) {
	locks := []*Lock{chain("z1", "a1", "b1"), chain("z2", "b1", "a1"), chain("a", "a2", "b2")}
	for i := range 3 * maxCycles {
		one, two := fmt.Sprint("m", i), fmt.Sprint("n", i)
		locks = append(locks, unlabelled(chain(one, "c", "d"), chain(two, "d", "c"))...)
	}
	cycles := findCycles(slices.Values(locks))
	must.Equal(t, len(cycles), 100, "cycles")
	must.Equal(t, judged(cycles[:1]), "/z1 /z2 likely", "the first")
}

// A search remembers that a session has several threads, even while only one of them has entries.
func TestASearchRemembersThreads(t *testing.T) {
	ring := func(labels bool) []*Lock {
		locks := []*Lock{chain("1", "a1", "b"), chain("2", "b", "a1")}
		if !labels {
			unlabelled(locks...)
		}
		return aged(time.Minute, locks...)
	}
	busy := aged(time.Minute, unlabelled(chain("3", "x", "a"), chain("4", "x", "a"))...)
	var s deadlockSearch
	must.Equal(t, judged(s.find(slices.Values(ring(false)), now)), "/1 /2 likely", "at first")
	s.find(slices.Values(append(ring(false), busy...)), now)
	must.Equal(t, judged(s.find(slices.Values(ring(false)), now.Add(time.Minute))), "/1 /2 possible", "after it waited twice")
	s.find(slices.Values([]*Lock(nil)), now.Add(time.Hour))
	must.Equal(t, judged(s.find(slices.Values(ring(false)), now.Add(time.Hour))), "/1 /2 likely", "an hour later")

	s = deadlockSearch{}
	crossed := []*Lock{chain("1", "a1", "b"), chain("2", "b", "a2")}
	s.find(slices.Values(aged(time.Minute, crossed...)), now)
	mixed := aged(time.Minute, append(unlabelled(chain("1", "a", "b")), chain("2", "b", "a1"))...)
	must.Equal(t, judged(s.find(slices.Values(mixed), now)), "", "a thread without a label")
}

// A deadlock in a single read is at most possible. A second read confirms it.
func TestSecondLookConfirmsDeadlock(t *testing.T) {
	look := func(before *Snapshot, locks ...*Lock) *Snapshot {
		return ran(t, now, func(o *Observer) { o.After(before) }, Update{Put: locks}, Update{Backend: zkOnce})
	}
	first := look(nil, chain("1", "a", "b"), chain("2", "b", "a"))
	must.Equal(t, judged(first.Cycles()), "/1 /2 possible", "one read")
	must.Equal(t, judged(look(first, chain("1", "a", "b"), chain("2", "b", "a")).Cycles()), "/1 /2 likely", "the same")
	again := chain("2", "b", "a")
	again.Waiters[0].Name = "queued again"
	must.Equal(t, judged(look(first, chain("1", "a", "b"), again).Cycles()), "", "another wait")
}
