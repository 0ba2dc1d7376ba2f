package redissource

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
)

func TestMastersAgreeOnClientHost(t *testing.T) {
	here := named("token", "10.0.0.2:1")
	local := named("token", "127.0.0.1:1")
	for what, c := range map[string]struct {
		lists []node.Clients
		down  int // this many, counted from the last, do not answer
		want  string
	}{
		"all":                   {[]node.Clients{here, named("token", "10.0.0.2:2"), named("token", "10.0.0.2:3")}, 0, "10.0.0.2"},
		"one is down":           {[]node.Clients{here, here, nil}, 1, "10.0.0.2"},
		"two are down":          {[]node.Clients{here, nil, nil}, 2, ""},
		"one has no list":       {[]node.Clients{here, here, nil}, 0, ""},
		"one does not know it":  {[]node.Clients{here, here, named("other", "10.0.0.2:1")}, 0, ""},
		"one sees another host": {[]node.Clients{here, here, named("token", "10.0.0.3:1")}, 0, ""},
		"each its own loopback": {[]node.Clients{local, local, local}, 0, ""},
	} {
		b := testTable(3)
		b.add("k", noon)
		for i := range 3 {
			b.vote(i, "k", held(i, "token", 0, noon), noon)
			b.meet(i, c.lists[i])
		}
		for i := range c.down {
			b.silence(2-i, errors.New("connection refused"), time.Now())
		}
		l, _ := b.judge("k", noon)
		for _, h := range l.Holders {
			must.Equal(t, h.Owner.Client, c.want, what)
		}
		if c.down < 2 && len(l.Holders) != 1 {
			t.Errorf("%s: %+v", what, l)
		}
	}
}

func TestClientChangeReportsLockAgain(t *testing.T) {
	b := testTable(1)
	var first *inspect.Lock
	for _, key := range []string{"k", "other"} {
		if l := b.read(key, noon, held(0, inspect.Untrusted("of "+key), 0, noon)); key == "k" {
			first = l
		}
	}
	if put := b.meet(0, named("somebody", "10.0.0.2:1")); put != nil {
		t.Errorf("reported again without a known client: %v", put)
	}
	of := named("x", "10.0.0.2:1")
	of.Add("of k", "10.0.0.2:1") // real names have no spaces
	put := b.meet(0, of)
	if len(put) != 1 || put[0].ID.Path != "k" || put[0].Holders[0].Owner.Client != "10.0.0.2:1" || !put[0].ReadAt.Equal(noon) {
		t.Fatalf("%+v", put)
	}
	must.Equal(t, first.Holders[0].Owner.Client, "", "a published lock was modified")
	if put := b.meet(0, maps.Clone(of)); put != nil {
		t.Errorf("reported again without a change: %v", put)
	}
	if l := b.read("k", noon, held(0, "of k", 1, noon)); l == nil || l.Holders[0].Owner.Client != "10.0.0.2:1" {
		t.Errorf("after a renewal: %+v", l)
	}
	if put := b.meet(0, nil); len(put) != 1 || put[0].Holders[0].Owner.Client != "" {
		t.Errorf("after the list was lost: %+v", put)
	}
}

// named is a client list with one connection.
func named(name, addr string) node.Clients {
	return node.ParseClients("id=7 addr=" + addr + " name=" + name + "\n")
}
