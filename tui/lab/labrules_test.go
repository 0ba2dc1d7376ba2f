package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func TestFaultsOf(t *testing.T) {
	l := fixture.Orders()
	target := func(c *inspect.Contender) faultTarget {
		return faultTarget{lock: l, contender: c, masters: []Master{{"m1", false}, {"m2", true}}}
	}
	persistent := fixture.Orders()
	persistent.Holders[0].Persistent = true
	mine := target(&l.Holders[0])
	mine.ours = func(n inspect.Untrusted) bool { return n == l.Holders[0].Name }
	frozen := target(&l.Holders[0])
	frozen.frozen = true
	for _, tt := range []struct {
		name   string
		target faultTarget
		at     int
		label  string
		says   string // the preview, or the reason why it cannot be done
		off    bool
	}{
		{"freeze", target(&l.Holders[0]), 0, "freeze the holder of /locks/orders", "now worker-3: it stays alive but does not release, like a hung process; the queue grows until you thaw it", false},
		{"thaw", frozen, 0, "thaw the holder of /locks/orders", "releases the lock", false},
		{"no client to freeze", faultTarget{lock: persistent}, 0, "freeze the holder of /locks/orders", "worker-3 has no client to freeze", true},
		{"no holder yet", faultTarget{lock: fixture.FreeLock()}, 0, "freeze the holder of /locks/nightly", "no holder now, so the next one freezes", false},
		{"our own", mine, 0, "freeze the holder of /locks/orders", "it is yours", true},
		{"expire the holder", target(&l.Holders[0]), 1, "expire the session of worker-3", "worker-7, next in the queue, gets the lock at once", false},
		{"expire a waiter", target(&l.Waiters[0]), 1, "expire the session of worker-7", "its watchers check again", false},
		{"cut", target(&l.Waiters[0]), 2, "cut the connection of worker-7", "keeps its place", false},
		{"a contender that left", faultTarget{lock: fixture.FreeLock(), contender: &l.Waiters[0], left: true}, 1, "expire the session of worker-7", "worker-7 left the lock; press w for the next", true},
		{"no session", faultTarget{lock: fixture.Thin(), contender: &fixture.Thin().Holders[0]}, 1, "expire a session", "only ZooKeeper has sessions", true},
		{"a node without a session", faultTarget{lock: persistent, contender: &persistent.Holders[0]}, 1, "expire a session", "no session owns the node of worker-3", true},
		{"no contender", faultTarget{lock: fixture.FreeLock()}, 2, "cut a connection", "no contender", true},
		{"no lock", faultTarget{}, 0, "freeze the holder", "no lock is selected", true},
		{"stop", target(nil), 3, "stop master m1", "unknown", false},
		{"start", target(nil), 4, "start master m2", "with its data", false},
	} {
		got := faultsOf(tt.target)[tt.at]
		must.Equal(t, got.label, tt.label, tt.name)
		must.Contain(t, got.shows+got.off, tt.says, tt.name)
		must.True(t, (got.off != "") == tt.off && (got.do == nil) == tt.off, tt.name, "can be done", got)
	}
}

func TestPlaceInTheQueue(t *testing.T) {
	l := fixture.Orders()
	for _, tt := range []struct {
		lock *inspect.Lock
		name string
		want string
	}{
		{l, l.Waiters[0].Name.Raw(), "waits: next, after the holder worker-3"},
		{l, l.Waiters[2].Name.Raw(), "waits: 3rd of 3, behind 10.2.0.4:53122"},
		{l, "unseen", "waits; position unknown so far"},
		{nil, "x", "waits; the screen has not seen the lock yet"},
		{fixture.Thin(), "x", "waits for Y2NjY2NjY2NjY2NjY2NjYw==; Redis keeps no queue: position unknown"},
	} {
		must.Equal(t, placeWords(tt.lock, tt.name), tt.want)
	}
	var got []string
	for _, n := range []int{1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 113} {
		got = append(got, ordinal(n))
	}
	must.Same(t, got, strings.Fields("1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th 113th"))
}

func TestPreviewNamesTheNewNodes(t *testing.T) {
	for _, tt := range []struct {
		backend *Backend
		order   Order
		want    []string
	}{
		{&zkBackend, Order{Lock: fixture.Orders().ID, Recipe: "curator"}, []string{"lockscope creates an ephemeral sequential node below zk:/locks/orders.", "ends with our session"}},
		{&zkBackend, Order{Lock: fixture.Orders().ID, Recipe: "curator", Try: true}, []string{"deletes it at once"}},
		{&redisBackend, Order{Lock: fixture.Thin().ID, Kind: "redlock", TTL: 10 * time.Second}, []string{"SET lock:cart:42 VALUE NX PX 10000 to 5 masters", "3 of them"}},
		{&Backend{Name: "redis", Masters: 1}, Order{Lock: fixture.Thin().ID, Kind: "mutex", TTL: 9 * time.Second}, []string{"PX 9000, and renews it every 3s", "It also sets " + recipe.FenceKey("lock:cart:42")}},
		{&zkBackend, Order{Lock: fixture.Hostile().ID, Recipe: "curator"}, []string{`\u{1b}[31m`}},
	} {
		text := strings.Join(takingPreview(tt.backend, &tt.order), "\n")
		for _, want := range tt.want {
			must.Contain(t, text, want)
		}
	}
}

func TestTakingIsRefused(t *testing.T) {
	redisson := fixture.Thin()
	redisson.Masters[0].Held, redisson.Recipe = &recipe.Record{}, "redisson"
	for _, tt := range []struct {
		name    string
		backend *Backend
		order   Order
		lock    *inspect.Lock
		want    []string
	}{
		{"its own library", &zkBackend, Order{Lock: fixture.Orders().ID, Kind: "mutex", Recipe: "curator"}, fixture.Orders(), nil},
		{"another library: both are named", &zkBackend, Order{Lock: fixture.Orders().ID, Kind: "mutex", Recipe: "kazoo"}, fixture.Orders(), []string{"curator", "kazoo"}},
		{"a free lock accepts any", &zkBackend, Order{Lock: fixture.FreeLock().ID, Kind: "mutex", Recipe: "kazoo"}, fixture.FreeLock(), nil},
		{"a lock of readers", &zkBackend, Order{Lock: fixture.Readers().ID, Kind: "mutex", Recipe: "kazoo"}, fixture.Readers(), []string{"rw", "mutex"}},
		{"a writer among readers", &zkBackend, Order{Lock: fixture.Readers().ID, Kind: "write", Recipe: fixture.Readers().Recipe}, fixture.Readers(), nil},
		{"a reader of a mutex", &zkBackend, Order{Lock: fixture.Orders().ID, Kind: "read", Recipe: "curator"}, fixture.Orders(), []string{"mutex", "readers"}},
		{"a hash of Redisson's", &redisBackend, Order{Lock: fixture.Thin().ID, Kind: "redlock"}, redisson, []string{"redisson", "plain key"}},
		{"an invalid path", &zkBackend, Order{Lock: fixture.Id("zk:locks"), Recipe: "curator"}, nil, []string{"invalid path"}},
		{"a path with a slash at its end", &zkBackend, Order{Lock: fixture.Id("zk:/locks/"), Recipe: "curator"}, nil, []string{"invalid path"}},
	} {
		got := takingRefused(tt.backend, &tt.order, tt.lock)
		must.Equal(t, (got == ""), (tt.want == nil), tt.name, got)
		for _, word := range tt.want {
			must.Contain(t, got, word, tt.name)
		}
	}
}

func TestLocksOfRunsAreTemporary(t *testing.T) {
	for path, want := range map[string]bool{
		"/lockscope-lab/c5a9014a": true, "lock:lockscope-lab:c5a9014a": true, "/locks/lockscope-lab/x": false, "lock:orders": false,
	} {
		must.Equal(t, Temporary(path), want, path)
	}
}

func TestUsualTaking(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		backend              *Backend
		lock                 *inspect.Lock
		kind, recipe, prefix string
	}{
		{"the recipe of the directory", &zkBackend, fixture.Readers(), "mutex", "kazoo", ""},
		{"the prefix of its users", &zkBackend, sequentialLock(), "mutex", "sequential", "foo"},
		{"curator on an unused path", &zkBackend, nil, "mutex", "curator", ""},
		{"an unsupported recipe", &zkBackend, &inspect.Lock{Recipe: "hbase"}, "mutex", "curator", ""},
		{"several masters", &redisBackend, nil, "redlock", "", ""},
	} {
		o := usualTaking(tt.backend, fixture.Id("zk:/x"), tt.lock)
		must.Same(t, []string{o.Kind, o.Recipe, o.Prefix}, []string{tt.kind, tt.recipe, tt.prefix}, tt.name)
	}
}

func TestWhyNothingWasTaken(t *testing.T) {
	for _, tt := range []struct {
		order Order
		err   error
		want  string
	}{
		{
			Order{},
			&lockops.RecipeError{Path: "/x", Want: "curator", Found: "curator", WantKind: "mutex", FoundKind: "read-write lock"},
			"refused: it is a read-write lock used by curator clients, which do not queue with a mutex; nothing was left behind",
		},
		{Order{}, &lockops.RecipeError{Path: "/x", Want: "kazoo", Found: "curator"}, "refused: its curator clients do not queue with kazoo clients; nothing was left behind"},
		{Order{Try: true}, fmt.Errorf("acquire /locks/orders: %w", lockops.ErrHeld), "another client holds it; nothing was left behind"},
		{Order{Wait: 30 * time.Second}, context.DeadlineExceeded, "not acquired within 30s; nothing is left on reachable servers"},
		{Order{Try: true}, context.DeadlineExceeded, "failed: context deadline exceeded"},
		{Order{}, context.Canceled, "stopped waiting; nothing is left on reachable servers"},
		{Order{}, errors.New("bell \a"), `failed: bell \u{7}`},
	} {
		must.Equal(t, notTaken(&tt.order, tt.err), tt.want, tt.err)
	}
}

var redisBackend = Backend{Name: "redis", Masters: 5, Kinds: []string{"redlock"}, Targets: []string{"mutex on one master", "redlock"}}

func sequentialLock() *inspect.Lock {
	c := fixture.Znode(1, "tutorial", time.Second, nil, 0)
	c.Name = "foo0000000001"
	return &inspect.Lock{ID: fixture.Id("zk:/locker"), Kind: inspect.KindMutex, Recipe: "sequential", Holders: []inspect.Contender{c}}
}

var zkBackend = Backend{
	Name: "zk", ZooKeeper: true, Kinds: []string{"mutex"}, Targets: []string{"mutex"},
	Recipes: map[string][]string{"mutex": {"curator", "kazoo", "sequential"}},
}
