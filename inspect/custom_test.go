package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func acme(t *testing.T) recipe.Custom {
	t.Helper()
	return must.Have(recipe.NewCustom("acme", "zookeeper", "rw", recipe.Patterns{
		Lock: `/acme/[^/]+`, Contender: `(?P<mode>r|w)-(?P<host>[^-]+)-(?P<pid>\d+)-\d{10}`,
	}))(t)
}

func acmeKeys(t *testing.T) recipe.Custom {
	t.Helper()
	return must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{
		Lock: "/acme/.*", Contender: "w[0-9]+", NoTTL: true, OneServer: true,
	}))(t)
}

func TestRecogniseRereadsModesOwnersAndQueue(t *testing.T) {
	nodes := children(t, "r-a-1-#1/1 r-b-2-#2/2 w-c-3-#3/3 r-d-4-#4/4")
	l, other := directoryLock(ID{"zk", "/acme/orders"}, nodes, now), directoryLock(ID{"zk", "/other"}, nodes, now)
	src := script{make(chan Update, 1)}
	src.updates <- Update{Put: []*Lock{l, other}}
	close(src.updates)
	var got Update
	source := Recognise(src, []recipe.Custom{acme(t)})
	must.Succeed(t, source.Run(t.Context(), func(u Update) { got = u }))
	read := got.Put[0]
	must.Equal(t, outline(read), "acme rw contended certain: 1 2 < 3 4")
	reader, writer, behind := read.Holders[1], read.Waiters[0], read.Waiters[1]
	must.Equal(t, reader.Owner, Owner{Session: 2, Process: Process{Host: "b", PID: "2"}})
	must.Equal(t, fmt.Sprint(reader.Mode, reader.State), fmt.Sprint(recipe.Shared, Holding), "reader")
	must.Equal(t, reader.Watches, "", "watched by the reader")
	must.Equal(t, writer.Mode, recipe.Exclusive, "writer")
	must.Equal(t, writer.Watches, "r-b-2-0000000002", "watched by the writer")
	must.Equal(t, behind.Watches, "w-c-3-0000000003", "watched by the reader behind it")
	must.Same(t, []int32{reader.BlockedBelow, writer.BlockedBelow}, []int32{2, 1}, "blocked")
	must.Equal(t, got.Put[1], other, "a lock of another recipe")
	must.True(t, l.Recipe != "acme" && l.Holders[0].Owner.Host == "", "the source's own lock was changed", l)
}

func TestRecogniseKeepsUnmatchedEntries(t *testing.T) {
	for nodes, want := range map[string]string{
		"lock-#1/1":             "sequential mutex held possible: 1", // numbered nodes of another recipe
		"w-a-1-#1/1 lock-#2/2":  "acme rw contended certain: 1 < 2",
		"w-a-1-#1/1 w-b-2-#2/2": "acme rw contended certain: 1 < 2",
	} {
		l := directoryLock(ID{"zk", "/acme/x"}, children(t, nodes), now)
		read := ReadBy(l, []recipe.Custom{acme(t)})
		must.Equal(t, outline(read), want, nodes)
		for c := range read.Contenders {
			other := strings.HasPrefix(c.Name.Raw(), "lock-") && read.Recipe == "acme"
			must.Equal(t, c.Recipe == "sequential", other, nodes, c.Name)
		}
	}
	for name, tt := range map[string]struct {
		value, recipe string
		sure          recipe.Confidence
		traits        bool
		custom        recipe.Custom
	}{
		"a recipe of another kind of backend": {"w1", "token", recipe.Possible, false, acme(t)},
		"another value":                       {"v", "token", recipe.Likely, false, acmeKeys(t)},
		"a key of the recipe":                 {"w1", "acme", recipe.Certain, true, acmeKeys(t)},
	} {
		key := KeyLock(ID{"redis", "/acme/x"}, []Vote{{Up: true, Present: true, Value: Untrusted(tt.value)}}, now)
		read := ReadBy(key, []recipe.Custom{tt.custom})
		must.Equal(t, read.Recipe, tt.recipe, name)
		must.Equal(t, read.Confidence, tt.sure, name)
		must.True(t, read.NoTTLByDefault() == tt.traits && read.OneServer() == tt.traits, name, "traits of the library")
		must.Equal(t, key.Confidence, recipe.Possible, name, "the source's own lock")
	}
}
