package finding

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// What was found before is only there to save work: along random changes of a lock and of what is known of it, what is found with
// it is what would be found without.
func TestWhatWasFoundBeforeChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		l := with(queue("curator", 5), holder(func(h *inspect.Contender) { h.Since = now.Add(-48 * time.Hour) }))
		h := past(func(h *inspect.History) { h.Since, h.Holds, h.Grants = now.Add(-30*time.Minute), inspect.Spans{}, 0 })
		l.KindConfidence = recipe.Likely
		at, waiters := now, l.Waiters
		steps := []func(one *inspect.Contender){
			func(*inspect.Contender) { at = at.Add(time.Duration(rnd.IntN(1200)) * time.Second) },
			func(*inspect.Contender) { l.Waiters = waiters[:1+rnd.IntN(len(waiters))] },
			func(*inspect.Contender) { h = past(func(p *inspect.History) { *p = *h; p.Grants = rnd.IntN(2) }) },
			func(*inspect.Contender) {
				h = past(func(p *inspect.History) { *p = *h; p.Since = at.Add(-time.Duration(rnd.IntN(7200)) * time.Second) })
			},
			func(one *inspect.Contender) { one.Owner.Session = int64(rnd.IntN(3)) },
			func(one *inspect.Contender) { one.Owner.Client = []string{"", "10.0.0.1:5", "10.0.0.1:6"}[rnd.IntN(3)] },
			func(one *inspect.Contender) { one.Owner.Label = []inspect.Untrusted{"", "worker"}[rnd.IntN(2)] },
			func(one *inspect.Contender) {
				one.Name = []inspect.Untrusted{"a-lock-0000000001", "b-lock-0000000002"}[rnd.IntN(2)]
			},
			func(one *inspect.Contender) { one.Revocable = !one.Revocable },
			func(one *inspect.Contender) {
				one.HeldSince = []time.Time{{}, now.Add(-time.Hour), now.Add(-61 * time.Minute)}[rnd.IntN(3)]
			},
			func(*inspect.Contender) {
				l.Kind = []inspect.Kind{inspect.KindMutex, inspect.KindElection}[rnd.IntN(2)]
			},
			func(*inspect.Contender) { l.ExpectedHold = []time.Duration{0, 20 * time.Minute}[rnd.IntN(2)] },
			func(*inspect.Contender) {
				l.Unseen = [][]inspect.Unseen{nil, {{Aspect: inspect.AspectHolders}}}[rnd.IntN(2)]
			},
		}
		for range 40 {
			steps[rnd.IntN(len(steps))](&l.Holders[0])
			seen(h)(&inspect.Case{Lock: l})
			c := inspect.Case{Lock: l, Now: at, History: h}
			with, bare := diagnose(t, "stuck-holder", c), *l
			bare.Findings = nil
			c.Lock = &bare
			if without := diagnose(t, "stuck-holder", c); !reflect.DeepEqual(with, without) {
				t.Fatalf("seed %d: %+v with what was found before, %+v without", seed, with, without)
			}
			l.Findings = with
		}
	}
}

// What was tempered, for either reason, has lost its own advice and is put together again.
func TestATemperedFindingIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	r := rule{name: "any", restsOn: []inspect.Aspect{inspect.AspectHolders}}
	for name, tt := range map[string]struct {
		sure   recipe.Confidence
		unseen []inspect.Unseen
		taken  bool
	}{
		"possibly a lock": {recipe.Possible, nil, false},
		"half was unseen": {recipe.Certain, []inspect.Unseen{{Aspect: inspect.AspectHolders}}, false},
		"not tempered":    {recipe.Certain, nil, true},
	} {
		l := queue("curator", 2)
		l.Confidence, l.Unseen = tt.sure, tt.unseen
		c, h := present(l), &l.Holders[0]
		l.Findings = r.temper(&c, r.sign(one(inspect.Finding{Message: "m", Confidence: recipe.Possible, Evidence: about(h), Subject: h.Subject(), Advice: "its own"})))
		l.Confidence, l.Unseen = recipe.Certain, nil
		if got := again(&c, "any", "m", recipe.Possible, h); (got != nil) != tt.taken {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
