package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

func TestDifferences(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	who := func(state ContenderState, names ...string) []Contender {
		return each.Of(names, func(name string) Contender { return Contender{Name: Untrusted(name), State: state} })
	}
	lock := func(path string, state State, holders, waiters []Contender, rules ...string) *Lock {
		found := each.Of(rules, func(rule string) Finding { return Finding{Rule: rule, Severity: Warning} })
		return &Lock{ID: ID{"zk", path}, State: state, Holders: holders, Waiters: waiters, Findings: found}
	}
	up := &Backend{Name: "zk", FirstPass: true, State: Connected}
	down := &Backend{Name: "zk", FirstPass: true, State: Down, Findings: []Finding{{Rule: "blind"}}}
	same := lock("/same", StateHeld, who(Holding, "h"), nil)
	from := NewSnapshot(at, []*Backend{up, {Name: "new", FirstPass: true}}, []*Lock{
		same,
		lock("/gone", StateHeld, who(Holding, "h"), nil),
		lock("/handed", StateContended, who(Holding, "a"), who(Waiting, "b", "c"), "stuck-holder"),
		lock("/unknown", StateHeld, who(Holding, "a"), nil),
		lock("/equal", StateHeld, who(Holding, "a"), nil, "no-ttl"),
	})
	to := NewSnapshot(at.Add(time.Minute), []*Backend{down, {Name: "new"}, {Name: "other", FirstPass: true}}, []*Lock{
		same,
		lock("/came", StateHeld, who(Holding, "h"), nil),
		lock("/handed", StateContended, who(Holding, "b"), who(Waiting, "d"), "herd"),
		lock("/unknown", StateUnknown, nil, nil),
		lock("/equal", StateHeld, who(Holding, "a"), nil, "no-ttl"),
		{ID: ID{Backend: "new", Path: "x"}, State: StateHeld},
	})
	list, skipped := Differences(from, to)
	var got []string
	for _, d := range list {
		var words []string
		for _, g := range []struct {
			word string
			who  []*Contender
		}{{"acquired", d.Acquired}, {"ended", d.Ended}, {"joined", d.Joined}, {"left", d.Left}} {
			for _, c := range g.who {
				words = append(words, g.word+" "+c.Name.String())
			}
		}
		for _, f := range d.New {
			words = append(words, "new "+f.Rule)
		}
		for _, f := range d.Gone {
			words = append(words, "gone "+f.Rule)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(d.Lock.Path, " ", d.Was, d.Is, " ", strings.Join(words, ", "))))
	}
	want := []string{
		"connecteddown new blind",
		"/came  acquired h",
		"/gone  ended h",
		"/handed  acquired b, ended a, joined d, left c, new herd, gone stuck-holder",
		"/unknown",
	}
	must.NoDiff(t, cmp.Diff(want, got))
	must.Same(t, skipped, []NotCompared{
		{"new", "not yet read completely in the second snapshot"}, {"other", "missing from the first snapshot"},
	})
	list, skipped = Differences(from, from)
	must.True(t, list == nil && skipped == nil, "nothing changed:", list, skipped)
}
