package inspect

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func acme(t *testing.T) recipe.Custom {
	t.Helper()
	c, err := recipe.NewCustom("acme", "zookeeper", "rw", recipe.Patterns{
		Lock: `/acme/[^/]+`, Contender: `(?P<mode>r|w)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}`,
	})
	must.Succeed(t, err)
	return c
}

type oneUpdate Update

func (u oneUpdate) Run(_ context.Context, emit func(Update)) error {
	emit(Update(u))
	return nil
}

func (oneUpdate) Focus([]ID) {}

func TestRecogniseRereadsModesOwnersAndQueue(t *testing.T) {
	var children []Znode
	for i, name := range []string{"r-a-1-0000000001", "r-b-2-0000000002", "w-c-3-0000000003", "r-d-4-0000000004"} {
		children = append(children, Znode{Name: name, Known: true, EphemeralOwner: int64(i + 1)})
	}
	l := directoryLock(ID{"zk", "/acme/orders"}, children, time.Now())
	other := directoryLock(ID{"zk", "/other"}, children, time.Now())
	var got Update
	source := Recognise(oneUpdate{Put: []*Lock{l, other}}, []recipe.Custom{acme(t)})
	must.Succeed(t, source.Run(t.Context(), func(u Update) { got = u }))
	read := got.Put[0]
	if read.Recipe != "acme" || read.Confidence != recipe.Certain || read.Kind != KindRW || read.State != StateContended || len(read.Holders) != 2 || len(read.Waiters) != 2 {
		t.Fatalf("%+v", read)
	}
	if h := read.Holders[1]; h.Owner.Host != "b" || h.Owner.PID != "2" || h.Mode != recipe.Shared || h.State != Holding || h.BlockedBelow != 2 || h.Watches != "" {
		t.Errorf("reader: %+v", h)
	}
	if w := read.Waiters[0]; w.Watches != "r-b-2-0000000002" || w.Mode != recipe.Exclusive || w.BlockedBelow != 1 {
		t.Errorf("writer: %+v", w)
	}
	if w := read.Waiters[1]; w.Watches != "w-c-3-0000000003" {
		t.Errorf("reader behind the writer: %+v", w)
	}
	if got.Put[1] != other || l.Recipe == "acme" || l.Holders[0].Owner.Host == "a" {
		t.Error("a lock of another recipe, or the source's own lock, was changed")
	}
}

func TestRecogniseKeepsUnmatchedEntries(t *testing.T) {
	recipes := []recipe.Custom{acme(t)}
	foreign := directoryLock(ID{"zk", "/acme/x"}, []Znode{{Name: "lock-0000000001", Known: true, EphemeralOwner: 1}}, time.Now())
	if read := ReadBy(foreign, recipes); read.Recipe != "sequential" || read.Confidence != recipe.Possible {
		t.Errorf("numbered nodes of another recipe: %+v", read)
	}
	mixed := directoryLock(ID{"zk", "/acme/x"}, []Znode{
		{Name: "w-a-1-0000000001", Known: true, EphemeralOwner: 1}, {Name: "lock-0000000002", Known: true, EphemeralOwner: 2},
	}, time.Now())
	if read := ReadBy(mixed, recipes); read.Recipe != "acme" || read.Holders[0].Recipe != "" || read.Waiters[0].Recipe != "sequential" {
		t.Errorf("mixed: %+v", read)
	}
	keys := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: "/acme/.*", Contender: "w[0-9]+"}))(t)
	key := KeyLock(ID{"redis", "/acme/x"}, []Vote{{Up: true, Present: true, Value: "v"}}, time.Now())
	must.Equal(t, ReadBy(key, recipes), key, "a recipe of another kind of backend")
	if read := ReadBy(key, []recipe.Custom{keys}); read.Recipe != "token" || read.Confidence != recipe.Likely || key.Confidence != recipe.Possible {
		t.Errorf("a key of the recipe with another value: %+v", read)
	}
}

func TestCustomRecipeSetsLibraryTraits(t *testing.T) {
	c := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: "/acme/.*", Contender: "w[0-9]+", NoTTL: true, OneServer: true}))(t)
	key := KeyLock(ID{"redis", "/acme/x"}, []Vote{{Up: true, Present: true, Value: "w1"}}, time.Now())
	if read := ReadBy(key, []recipe.Custom{c}); !read.NoTTLByDefault() || !read.OneServer() || key.NoTTLByDefault() || key.OneServer() {
		t.Errorf("%+v", read)
	}
}
