package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// heldBy returns locks in one place. counts has the number of locks of each session.
func heldBy(prefix string, counts ...int) []*Lock {
	var locks []*Lock
	for i, n := range counts {
		for j := range n {
			locks = append(locks, &Lock{
				ID: ID{"zk", fmt.Sprintf("%s%d-%d", prefix, i, j)}, Kind: KindMutex, Confidence: recipe.Certain,
				Holders: []Contender{{Name: "c", State: Holding, Owner: Owner{Session: int64(i + 1), Label: Untrusted(fmt.Sprint("w", i+1))}}},
			})
		}
	}
	return locks
}

// A client is an outlier compared with three quarters of its peers, even if a few others have as
// many locks. Few peers or few entries are not enough.
func TestOutliers(t *testing.T) {
	peers := func(each, n int, more ...int) []int { return append(slices.Repeat([]int{each}, n), more...) }
	possible := heldBy("/locks/", peers(1, 20, 500)...)
	for _, l := range possible {
		l.Confidence = recipe.Possible
	}
	unknown := heldBy("/locks/", peers(1, 20, 80)...)
	for _, l := range unknown {
		l.Holders[0].Owner = Owner{}
	}
	redis := heldBy("lock:orders:", peers(1, 20, 80)...)
	for _, l := range redis {
		l.ID.Backend, l.Masters = "redis", []Vote{{Addr: "r:1"}}
		o := &l.Holders[0].Owner
		o.Process, o.Session = Process{LibraryID: o.Label, Thread: Untrusted(l.ID.Path)}, 0
	}
	for name, tt := range map[string]struct {
		locks []*Lock
		want  string
	}{
		"nothing":                         {nil, ""},
		"one among many":                  {heldBy("/locks/", peers(1, 20, 50)...), "w21 50 of /locks, 20 peers with 1"},
		"just under ten times":            {heldBy("/locks/", peers(6, 20, 59)...), ""},
		"just under fifty":                {heldBy("/locks/", peers(1, 20, 49)...), ""},
		"among a few":                     {heldBy("/locks/", peers(1, 9, 500)...), ""},
		"two outliers":                    {heldBy("/locks/", peers(1, 20, 900, 60)...), "w21 900 of /locks, 21 peers with 1; w22 60 of /locks, 21 peers with 1"},
		"many large ones are usual":       {heldBy("/locks/", peers(1, 12, 100, 100, 100, 100, 100)...), ""},
		"a service in its own directory":  {append(heldBy("/locks/", peers(1, 20)...), heldBy("/jobs/", append(make([]int, 20), 500)...)...), ""},
		"possible locks":                  {possible, ""},
		"a process on Redis with threads": {redis, "w21 80 of lock:orders:, 20 peers with 1"},
		"unknown owners":                  {unknown, ""},
	} {
		var got []string
		for _, list := range findOutliers(slices.Values(tt.locks)) {
			for _, o := range list {
				must.Equal(t, o.Holds, o.Entries, name, o)
				got = append(got, fmt.Sprintf("%s %d of %s, %d peers with %d", o.Owner, o.Entries, o.Under, o.Peers, o.Usual))
			}
		}
		must.Equal(t, strings.Join(got, "; "), tt.want, name)
	}
}

// Rules see a backend's outliers while the observer watches, until there are none.
func TestOutliersReachTheRules(t *testing.T) {
	r := runs(t, func() time.Time { return now }, Rule{Name: "outlier", Backend: func(b *Backend, _ time.Time) []Finding {
		return each.Of(b.Outliers, func(l Outlier) Finding { return Finding{Rule: "outlier", Severity: Info, Message: l.Owner.String()} })
	}})
	r.send <- Update{Put: heldBy("/locks/", append(slices.Repeat([]int{1}, 20), 60)...), Backend: zkUp}
	r.await(t, func(s *Snapshot) bool {
		b := s.Backend("zk")
		return b != nil && len(b.Findings) == 1 && b.Findings[0].Message == "w21"
	})
	for i := range 20 {
		r.send <- Update{Gone: []ID{{"zk", fmt.Sprintf("/locks/20-%d", i)}}}
	}
	r.end(t)
	must.Equal(t, len(r.Snapshot().Backend("zk").Findings), 0, "with 40 of them left")
}
