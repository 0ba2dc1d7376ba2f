package act

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// The most likely connection comes first. Replica links and connections running CLIENT LIST are
// left out.
func TestLikeliestCandidateComesFirst(t *testing.T) {
	var list []Connection
	for _, line := range []string{
		"id=1 addr=10.0.0.1:1 name= age=900 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=2 addr=10.0.0.2:1 name=web-1-pool age=900 idle=1 flags=N cmd=get lib-name= lib-ver=",
		"id=3 addr=10.0.0.3:1 name= age=5 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=4 addr=10.0.0.4:1 name= age=900 idle=1 flags=N cmd=evalsha lib-name=jedis lib-ver=4",
		"id=5 addr=10.0.0.5:1 name= age=900 idle=1 flags=N cmd=get",
		"id=6 addr=10.0.0.6:1 name= age=900 idle=1 flags=S cmd=set",
		"id=7 addr=10.0.0.7:1 name= age=900 idle=0 flags=N cmd=client|list lib-name=redis-py",
		"id=8 addr=10.0.0.8:1 name= age=900 idle=0 flags=b cmd=blpop",
		"id=9 addr=10.0.0.9:1 name= db=3 age=900 idle=1 flags=N cmd=set lib-name=redis-py lib-ver=5.0.1",
		"id=10 addr=10.0.0.5:2 name= age=900 idle=1 flags=N cmd=client|setname",
	} {
		c, ok := parseConnection(line)
		if !ok {
			t.Fatal(line)
		}
		list = append(list, c)
	}
	ids := func(found []Candidate) (ids []int64) {
		for _, c := range found {
			ids = append(ids, c.ID)
			must.True(t, len(c.For) != 0, c.ID, "has no reason to be a candidate")
		}
		return ids
	}
	l := &inspect.Lock{Recipe: "python-redis-lock"}
	holder := &inspect.Contender{State: inspect.Holding, Owner: inspect.Owner{Process: inspect.Process{Host: "web-1"}}}
	found := Candidates(l, holder, 5*time.Minute, 0, list)
	if got := ids(found); !slices.Equal(got, []int64{2, 1, 9, 3, 4}) {
		t.Errorf("%v: %+v", got, found)
	}
	for i, want := range []string{"its name contains the owner's host web-1", "its library is redis-py 5.0.1, which python-redis-lock uses", "it is in database 3", "it connected later", "jedis 4, but python-redis-lock uses redis-py"} {
		must.Contain(t, strings.Join(append(found[i].For, found[i].Against...), "; "), want, found[i].ID)
	}
	waiter := &inspect.Contender{State: inspect.Waiting, Owner: inspect.Owner{Process: inspect.Process{Host: "10.0.0.5"}}}
	must.Same(t, ids(Candidates(l, waiter, 0, 0, list)), []int64{1, 3, 5, 10, 8, 9, 4}, "candidates for a waiter")
}
