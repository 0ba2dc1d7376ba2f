package tree

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// world is a server's tree. It answers in order, and the event of a change precedes its effects.
type world struct {
	nodes  map[string]*Stat
	data   map[string]string
	shut   map[string]bool // may not be read
	odd    map[string]bool // whose reads fail
	zxid   int64
	toHear []func(t *Tree) // events and replies not yet delivered
	now    time.Time
}

func newWorld(dirs ...string) *world {
	w := &world{nodes: map[string]*Stat{"/": {}}, data: map[string]string{}, now: noon}
	w.shut, w.odd = map[string]bool{}, map[string]bool{}
	for _, p := range dirs {
		w.create(p, 0)
	}
	return w
}

func (w *world) report(p string, what Event) {
	w.toHear = append(w.toHear, func(t *Tree) { t.HandleEvent(p, what, w.now) })
}

func (w *world) create(p string, owner int64) {
	if w.nodes[p] != nil || w.nodes[parent(p)] == nil || w.nodes[parent(p)].EphemeralOwner != 0 {
		return
	}
	w.zxid++
	w.nodes[p] = &Stat{Czxid: w.zxid, Pzxid: w.zxid, EphemeralOwner: owner, Ctime: w.now.UnixMilli()}
	w.changed(p)
	w.report(p, Created)
}

func (w *world) remove(p string) {
	if w.nodes[p] == nil || w.nodes[p].NumChildren > 0 {
		return
	}
	w.zxid++
	delete(w.nodes, p)
	delete(w.data, p)
	w.changed(p)
	w.report(p, Deleted)
}

// changed updates the Stat of a node's parent.
func (w *world) changed(p string) {
	in := w.nodes[parent(p)]
	in.Pzxid, in.Cversion, in.NumChildren = w.zxid, in.Cversion+1, int32(len(w.children(parent(p))))
}

func (w *world) write(p, data string) {
	if w.nodes[p] == nil {
		return
	}
	w.zxid++
	w.data[p] = data
	w.nodes[p].Version++
	w.report(p, Changed)
}

func (w *world) children(p string) (names []string) {
	for c := range w.nodes {
		if c != "/" && parent(c) == p {
			names = append(names, path.Base(c))
		}
	}
	slices.Sort(names)
	return names
}

// serve answers the next read, if there is one.
func (w *world) serve(t *Tree) bool {
	if t.Queue.Empty() {
		return false
	}
	var j Job
	if t.Queue.Shared() {
		j = t.Queue.Pick()
	} else {
		j = Pop(&t.Queue.Alone)
	}
	if t.Wanted(j) {
		w.answer(j)
	}
	return true
}

// answer answers a read. The reply is still to be delivered.
func (w *world) answer(j Job) {
	r := &Reply{Job: j, Sent: w.now}
	stat := w.nodes[j.Node()]
	switch {
	case w.odd[j.Node()]:
		r.Err = errOdd
	case stat == nil:
		r.Err = ErrGone
		r.NoChroot = w.nodes["/"] == nil
	case w.shut[j.Node()] && j.Kind != JobStat && j.Kind != JobCompare:
		r.Err, r.Sealed, r.Stat = ErrDenied, true, *stat
	default:
		r.Stat, r.Data, r.Names = *stat, []byte(w.data[j.Node()]), w.children(j.Node())
	}
	w.toHear = append(w.toHear, func(t *Tree) {
		r.At = w.now
		t.Apply(r)
	})
}

var errOdd = errors.New("zk: odd")

func (w *world) deliver(t *Tree) bool {
	if len(w.toHear) == 0 {
		return false
	}
	next := w.toHear[0]
	w.toHear = w.toHear[1:]
	next(t)
	return true
}

// view is the locks that a tree has shown.
type view map[string]*inspect.Lock

func (v view) take(t *Tree, now time.Time) Changes {
	t.Build(now)
	c := t.Changes()
	maps.Copy(v, c.Put)
	for p := range c.Gone {
		delete(v, p)
	}
	return c
}

// held describes the locks that are not free.
func (v view) held() map[string]string {
	words := v.words()
	maps.DeleteFunc(words, func(p, _ string) bool { return v[p].State == inspect.StateFree })
	return words
}

func (v view) words() map[string]string {
	words := map[string]string{}
	for p, l := range v {
		says := string(l.State)
		for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
			for i := range list {
				says += fmt.Sprintf(" %s/%d<%s", list[i].Name, list[i].Owner.Session, list[i].Watches)
			}
			says += ";"
		}
		words[p] = says
	}
	return words
}

// grow starts a tree that reads the world.
func (w *world) grow() *Tree {
	t := grown(Config{Roots: []string{"/"}, Eager: true})
	t.Start(Server{Addr: "zk", Many: true, Watched: []string{"/"}, Since: w.now})
	return t
}

// settleDown serves and delivers until nothing is left to do.
func (v view) settleDown(t *Tree, w *world) {
	for quiet := false; !quiet; {
		quiet = true
		for w.deliver(t) || w.serve(t) {
			quiet = false
		}
		v.take(t, w.now)
		w.now = w.now.Add(time.Second)
		t.Wake(w.now)
		quiet = quiet && t.Queue.Empty() && len(t.due) == 0
	}
}

var worldDirs = []string{
	"/a", "/b", "/b/c", "/s", "/s/leases", "/s/locks", "/k", "/k-__lock__", "/one", "/shedlock",
}

// step changes the world at random.
func (w *world) step(random *rand.Rand) {
	in := worldDirs[random.IntN(len(worldDirs))]
	name := fmt.Sprintf("%s__lock__%010d", guid, random.IntN(4))
	switch in {
	case "/s/leases", "/s/locks":
		what := map[string]string{"/s/leases": "lease", "/s/locks": "lock"}[in]
		name = fmt.Sprintf("_c_2f7a3d62-0000-4000-8000-000000000000-%s-%010d", what, random.IntN(4))
	case "/k":
		name = guid[:31] + string("0123"[random.IntN(4)])
	case "/one", "/shedlock":
		name = string("xyz"[random.IntN(3)])
	}
	p := join(in, name)
	switch random.IntN(8) {
	case 0, 1, 2:
		if in == "/s" || in == "/" { // contenders next to a semaphore's parts are not tested
			return
		}
		owner := int64(7 + random.IntN(3))
		if in == "/shedlock" {
			owner = 0
		}
		w.create(p, owner)
	case 3, 4, 5:
		w.remove(p)
	case 6:
		if in == "/shedlock" || in == "/k" {
			w.write(p, fmt.Sprint(random.IntN(3)))
		}
	default:
		if random.IntN(4) == 0 {
			w.remove(in)
		}
		w.create(in, 0)
	}
}

// After random changes, a tree that followed them shows the same locks as a new tree.
func TestChangedTreeMatchesANewOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(worldDirs...)
		followed, seen := w.grow(), view{}
		seen.settleDown(followed, w)
		followed.FirstPass = true
		for range 200 {
			w.now = w.now.Add(time.Millisecond)
			switch random.IntN(4) {
			case 0:
				w.step(random)
			case 1:
				w.serve(followed)
			case 2:
				w.deliver(followed)
			default:
				seen.take(followed, w.now)
			}
		}
		seen.settleDown(followed, w)
		fresh, now := w.grow(), view{}
		now.settleDown(fresh, w)
		got, want := seen.held(), now.held()
		for p := range want { // the followed tree remembers an empty semaphore, so its queue is a part
			if b := followed.base(followed.dirs[p]); b != nil && b.fold == folded && got[b.Path] == "" {
				delete(want, p)
			}
		}
		if !maps.Equal(got, want) {
			for _, p := range slices.Sorted(maps.Keys(w.nodes)) {
				t.Logf("%s %+v", p, *w.nodes[p])
			}
			t.Fatalf("seed %d:\nfollowed %v\nlooked   %v", seed, got, want)
		}
	}
}
