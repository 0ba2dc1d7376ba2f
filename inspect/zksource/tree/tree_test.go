package tree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

const guid = "0123456789abcdef0123456789abcdef"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// grown is a tree with its roots. The test supplies the replies.
func grown(cfg Config) *Tree {
	cfg.Backend, cfg.Depth, cfg.Children, cfg.Dirs, cfg.Relists = "zk", 16, 10_000, 250_000, 4
	cfg.Focused, cfg.Others, cfg.Doubtful, cfg.Sweep = 2*time.Second, 10*time.Second, 10*time.Second, time.Minute
	if cfg.Only != "" {
		cfg.Roots = []string{cfg.Only}
	}
	t := New(cfg)
	t.AddRoots()
	return t
}

// answer applies a reply and builds the changed locks.
func (t *Tree) answer(kind Kind, p, name string, at time.Time, stat *Stat, err error, names ...string) {
	reply := &Reply{Job: Job{Kind: kind, Dir: t.dirs[p], Name: name}, Sent: at, At: at, Names: names, Err: err}
	if stat != nil {
		reply.Stat = *stat
	}
	t.Apply(reply)
	t.Build(at)
}

func TestContenderGoneBeforeReadIsIgnored(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		r := grown(Config{Roots: []string{"/l"}, Once: once})
		first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
		r.answer(JobStat, "/l", "", noon, &Stat{NumChildren: 2}, nil)
		r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1, NumChildren: 2}, nil, first, second)
		r.answer(JobGet, "/l", first, noon, nil, ErrGone)
		r.answer(JobGet, "/l", second, noon, &Stat{EphemeralOwner: 7}, nil)
		l := r.changes.Put["/l"]
		must.True(t, l != nil && l.Contention() == 1, "once", once, l)
		must.Equal(t, l.Holders[0].Owner.Session, 7, "once", once, "holder")
	}
}

// An ephemeral node is a lock only without another one next to it, in either order of the answers.
func TestLoneNodeDetectionIgnoresAnswerOrder(t *testing.T) {
	t.Parallel()
	const plain, numbered = "host-a", "host-1234567890"
	member := &Stat{Czxid: 5, EphemeralOwner: 7}
	for _, once := range []bool{true, false} {
		for _, plainFirst := range []bool{true, false} {
			for _, gone := range []bool{true, false} {
				t.Run(fmt.Sprintf("once %v, plain first %v, gone %v", once, plainFirst, gone), func(t *testing.T) {
					r := grown(Config{Roots: []string{"/web"}, Once: once})
					r.answer(JobStat, "/web", "", noon, &Stat{NumChildren: 2}, nil)
					r.answer(JobList, "/web", "", noon, &Stat{Czxid: 1, NumChildren: 2}, nil, numbered, plain)
					if plainFirst {
						r.answer(JobStat, "/web/"+plain, "", noon, member, nil)
					}
					if gone {
						r.answer(JobGet, "/web", numbered, noon, nil, ErrGone)
					} else {
						r.answer(JobGet, "/web", numbered, noon, member, nil)
					}
					if !plainFirst {
						r.answer(JobStat, "/web/"+plain, "", noon, member, nil)
					}
					d := r.dirs["/web/"+plain]
					must.True(t, d != nil && d.single() == gone, d)
				})
			}
		}
	}
}

func TestDeniedReadsAreRetried(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/"}})
	first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, "gone", "shut", first, second)
	for _, p := range []string{"/gone", "/shut"} {
		r.answer(JobStat, p, "", noon, &Stat{NumChildren: 1}, nil)
		r.answer(JobList, p, "", noon, nil, ErrDenied)
	}
	r.answer(JobGet, "/", first, noon, nil, ErrDenied)
	r.answer(JobGet, "/", second, noon, nil, ErrDenied)
	must.Equal(t, len(r.blind.refused), 4, "refused reads", r.blind.refused)
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, "shut", second)
	must.Equal(t, len(r.blind.refused), 2, "refused reads after the deletions", r.blind.refused)
	r.Queue.clear()
	r.server.Watched = []string{"/"}
	r.Poll(noon.Add(time.Second))
	must.True(t, r.Queue.Empty(), "requested again at once", r.Queue.Polls)
	asked := map[string]bool{}
	for beat := range 2 { // one at a time
		r.Poll(noon.Add(time.Minute + time.Duration(beat)*r.cfg.Focused))
		for _, j := range slices.Concat(r.Queue.Polls, r.Queue.Urgent) {
			asked[j.Dir.Path+" "+j.Name] = true
		}
		must.Equal(t, len(asked), beat+1, "requests", asked)
	}
	must.True(t, asked["/shut "] && asked["/ "+second], "requested again", asked)
	r.answer(JobList, "/shut", "", noon, &Stat{Czxid: 2}, nil)
	r.answer(JobGet, "/", second, noon, &Stat{EphemeralOwner: 7}, nil)
	must.True(t, len(r.blind.refused) == 0 && r.dirs["/shut"].phase == listable, "still refused", r.blind.refused)
	l := r.changes.Put["/"]
	must.True(t, l != nil && l.Holders[0].Owner.Session == 7, l)
}

// The event of a root's creation may arrive before an older answer that it does not exist.
func TestRootCreatedDuringReadIsReread(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server.Watched = []string{"/l"}
	d := &Dir{Path: "/l", root: true, asked: underWay}
	r.dirs["/l"] = d
	r.HandleEvent("/l", Created, noon)
	r.Apply(&Reply{Job: Job{Kind: JobStat, Dir: d}, At: noon, Err: ErrGone})
	q := r.Queue.Urgent
	must.True(t, len(q) == 1 && q[0].Dir == r.dirs["/l"], "queued", q)
}

// Servers since CVE-2024-23944 report nothing about a node that we may not read.
func TestAbsentRootIsPolled(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server = Server{Watched: []string{"/l"}}
	r.answer(JobStat, "/l", "", noon, nil, ErrGone)
	r.Poll(noon.Add(time.Minute))
	q := r.Queue.Polls
	must.Same(t, q, []Job{{Kind: JobStat, Dir: r.dirs["/l"]}}, "queued")
}

func TestAdoptReportsChanges(t *testing.T) {
	t.Parallel()
	d := &Dir{}
	stat := &Stat{Czxid: 1, NumChildren: 3}
	added, removed, _ := d.adopt([]string{"c", "a", "b"}, stat, noon)
	must.Same(t, added, []string{"a", "b", "c"}, "added at first")
	must.Same(t, removed, nil, "removed at first")
	d.keep("a", []byte("x"), &Stat{EphemeralOwner: 7}, false)
	d.keep("b", []byte("y"), &Stat{EphemeralOwner: 7}, false)
	added, removed, _ = d.adopt([]string{"d", "b"}, stat, noon)
	must.Same(t, added, []string{"d"}, "added")
	must.Same(t, removed, []string{"a", "c"}, "removed")
	must.Same(t, []bool{d.has("a"), d.has("b"), d.has("d")}, []bool{false, true, false}, "has a, b, d")
	d.adopt([]string{"b"}, &Stat{Czxid: 2}, noon)
	must.True(t, !d.has("b"), "a recreated directory keeps its old children")
}

func TestUnchangedListChangesNothing(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server.Watched = []string{"/l"}
	put := func() *inspect.Lock { return r.Changes().Put["/l"] }
	list := func(at time.Time, names ...string) { r.answer(JobList, "/l", "", at, &Stat{Czxid: 1}, nil, names...) }
	list(noon, "item-0000000001")
	r.answer(JobGet, "/l", "item-0000000001", noon, &Stat{Czxid: 2}, nil)
	l := put()
	must.Equal(t, l, nil, "a lock of persistent nodes")
	list(noon, "lock-0000000002")
	r.answer(JobGet, "/l", "lock-0000000002", noon, &Stat{Czxid: 3, EphemeralOwner: 7}, nil)
	l = put()
	must.True(t, l != nil && l.State == inspect.StateHeld, l)
	list(noon.Add(time.Second), "lock-0000000002")
	l = put()
	must.Equal(t, l, nil, "reported for an unchanged list")
	list(noon)
	l = put()
	if l == nil {
		t.Fatal("nothing is reported")
	}
	must.Equal(t, fmt.Sprint(l.Recipe, " ", l.State), "sequential free")
}

func TestChrootIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	for chroot, full := range map[Chroot]string{"/app": "/app/locks", "": "/locks"} {
		must.Equal(t, chroot.OnServer("/locks"), full, "below", chroot)
		shown, ok := chroot.Shown(full)
		must.True(t, ok && shown == "/locks", full, "is shown as", shown)
	}
	must.Equal(t, Chroot("/app").OnServer("/"), "/app", "the chroot itself")
	for full, want := range map[string]string{"/app": "/", "/app/locks/a": "/locks/a", "/application": "", "/other": ""} {
		got, ok := Chroot("/app").Shown(full)
		must.Equal(t, ok, want != "", full, "is shown")
		must.True(t, !ok || got == want, full, "is shown as", got)
	}
}

func TestContendersAppearOnceRead(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	list := func(names ...string) { r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1}, nil, names...) }
	get := func(name string, session int64) {
		r.answer(JobGet, "/l", name, noon, &Stat{EphemeralOwner: session, Czxid: session}, nil)
	}
	r.FirstPass = true // before that, the queue is shown by its names alone
	list("x-0000000001", "x-0000000002")
	get("x-0000000002", 2)
	must.Equal(t, r.changes.Put["/l"], nil, "reported before the holder was read")
	get("x-0000000001", 1)
	list("x-0000000002", "x-0000000003")
	l := r.changes.Put["/l"]
	must.True(t, l.State == inspect.StateHeld && l.Holders[0].Czxid == 2, "the handoff is not reported at once", l)
	get("x-0000000003", 3)
	l = r.changes.Put["/l"]
	must.True(t, len(l.Waiters) == 1 && l.Waiters[0].Owner.Session == 3, "after the new waiter was read", l)
	list("x-0000000004")
	must.Equal(t, r.changes.Put["/l"], l, "a report although only an unread contender is left")
	get("x-0000000004", 4)
	l = r.changes.Put["/l"]
	must.True(t, l.State == inspect.StateHeld && l.Holders[0].Owner.Session == 4, l)
}

// A lock is not reported until it is known whether a neighbour is a part of it.
func TestRuledOutPartUnblocksLock(t *testing.T) {
	t.Parallel()
	node := &Stat{EphemeralOwner: 7}
	for name, cfg := range map[string]Config{"named": {Only: "/l"}, "found": {Roots: []string{"/l", "/l-__lock__"}}} {
		for what, is := range map[string]struct {
			kind Kind
			stat *Stat
			err  error
		}{"gone": {JobStat, nil, ErrGone}, "a node": {JobStat, node, nil}, "a node that is listed": {JobList, node, nil}} {
			r := grown(cfg)
			contender := "n_0000000001" // the name alone proves nothing
			r.answer(JobStat, "/l", "", noon, &Stat{NumChildren: 1}, nil)
			r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1, NumChildren: 1}, nil, contender)
			r.answer(JobGet, "/l", contender, noon, &Stat{EphemeralOwner: 7}, nil)
			r.answer(is.kind, "/l-__lock__", "", noon, is.stat, is.err)
			l := r.changes.Put["/l"]
			must.True(t, l != nil && l.State == inspect.StateHeld, name, "the possible part is", what, l)
		}
	}
}

// plainChildren is a slow and simple model of children.
type plainChildren struct{ listed, read, awaited, fresh map[string]bool }

func (p *plainChildren) arrived(name string) {
	delete(p.awaited, name)
	delete(p.fresh, name)
}

func (p *plainChildren) left(name string) {
	p.arrived(name)
	delete(p.listed, name)
	delete(p.read, name)
}

// do applies one random operation to both.
func (p *plainChildren) do(c *children, random *rand.Rand, names []string) {
	name := names[random.IntN(len(names))]
	switch random.IntN(6) {
	case 0:
		list := slices.DeleteFunc(slices.Clone(names), func(string) bool { return random.IntN(2) == 0 })
		random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		c.list(list)
		for _, name := range names {
			if is := slices.Contains(list, name); is {
				p.listed[name] = true
			} else if p.listed[name] {
				p.left(name)
			} else if !p.awaited[name] { // read but never listed
				delete(p.read, name)
			}
		}
	case 1:
		c.await(name)
		p.awaited[name] = true
	case 2:
		if c.awaits(name) {
			c.arrived(name)
			c.keep(name, nil, &Stat{EphemeralOwner: 7}, false)
			p.arrived(name)
			p.read[name] = true
		}
	case 3:
		if c.hold(name); p.awaited[name] {
			p.fresh[name] = true
		}
	case 4:
		if c.drop(name) != p.listed[name] {
			panic("drop")
		}
		if p.arrived(name); p.listed[name] {
			p.left(name)
		}
	default:
		if random.IntN(20) == 0 {
			c.awaitNone()
			clear(p.awaited)
			clear(p.fresh)
		}
	}
}

func TestChildrenMatchSetModel(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for seed := range uint64(50) {
		random, c := rand.New(rand.NewPCG(seed, 0)), &children{}
		p := &plainChildren{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
		for step := range 200 {
			p.do(c, random, names)
			read, shown := map[string]bool{}, map[string]bool{}
			for _, name := range names {
				if c.awaits(name) != p.awaited[name] {
					t.Fatalf("seed %d, step %d: awaits(%s) should be %v", seed, step, name, !p.awaited[name])
				}
				if c.has(name) {
					read[name] = true
				}
			}
			for _, z := range c.shown() {
				shown[z.Name] = true
				if z.Known != p.read[z.Name] || z.Known && z.EphemeralOwner != 7 {
					t.Fatalf("seed %d, step %d: %+v", seed, step, z)
				}
			}
			want := maps.Clone(p.listed)
			maps.DeleteFunc(want, func(name string, _ bool) bool { return p.fresh[name] && !p.read[name] })
			if !maps.Equal(shown, want) || !maps.Equal(read, p.read) || c.awaited != len(p.awaited) || c.fresh != len(p.fresh) {
				t.Fatalf("seed %d, step %d: read %v, want %v; shown %v, want %v; awaited %d, want %v; fresh %d, want %v",
					seed, step, read, p.read, shown, want, c.awaited, p.awaited, c.fresh, p.fresh)
			}
		}
	}
}
