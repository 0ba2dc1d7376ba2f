// Package tree is what a walk of a ZooKeeper tree knows: replies of servers go in, the reads that are wanted
// next come out, and so do the locks that changed. It is pure: it sends nothing, starts nothing, and has no
// clock of its own.
//
// Three steps with values between them: Apply puts a reply into its directory and marks what that makes
// dirty; Build makes each dirty lock once; Changes hands over what Build made.
package tree

import (
	"path"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// Config is where a walk begins and how far it goes.
type Config struct {
	Backend string
	// Roots of the walk; Only, if not empty, is the one lock to read.
	Roots []string
	Only  string
	// Chroot is before every path on the servers.
	Chroot Chroot
	// Once: each node is looked at once, and no changes come. Eager: no budget bounds the reads.
	Once, Eager bool
	// Depth, Children and Dirs are those of zksource.Budget; Relists, too.
	Depth, Children, Dirs int
	Relists               float64
	// Intervals of what is read again: see the beats of zksource.
	Focused, Others, Doubtful, Sweep time.Duration
}

// Server is what the connection lets a walk do.
type Server struct {
	// Addr names the server that answers, or all of them while none does.
	Addr string
	// Connected: reads can be sent.
	Connected bool
	// Many reads can share a request.
	Many bool
	// Watched are the roots with a watch of all changes below.
	Watched []string
	// Since is when the connection was made; Lost counts those before it that broke.
	Since time.Time
	Lost  int
}

// Tree is all that is known of the nodes. It belongs to one goroutine.
type Tree struct {
	// Queue is what is to be read.
	Queue Queue
	// Scanned counts the directories that were looked at. FirstPass: all were, once.
	Scanned   int
	FirstPass bool

	cfg    Config
	server Server
	dirs   map[string]*Dir
	names  int // of children, in all directories
	focus  map[string]bool
	blind  blind

	dirty   []*Dir // whose lock is to be built
	settled []*Dir // in which nodes that are locks by themselves are to be looked for
	changes Changes

	due      map[*Dir]bool // directories that wait for their own budget
	expiring map[*Dir]time.Time
	sweep    sweep
	walkedAt time.Time // when Poll looked at all directories
	empty    emptyCount
}

// New makes a Tree that wants nothing yet.
func New(cfg Config) *Tree {
	t := &Tree{
		cfg: cfg, dirs: map[string]*Dir{}, blind: newBlind(), changes: newChanges(),
		due: map[*Dir]bool{}, expiring: map[*Dir]time.Time{},
	}
	t.Queue.whole = cfg.Once
	return t
}

// Plant begins the walk at the roots.
func (t *Tree) Plant() {
	for _, p := range t.cfg.Roots {
		t.root(p)
	}
	if t.cfg.Only != "" && t.cfg.Only != "/" {
		t.root(recipe.KazooQueuePath(t.cfg.Only))
	}
}

// root makes a directory a root.
func (t *Tree) root(p string) *Dir {
	d := t.dirs[p]
	if d == nil {
		d = &Dir{Path: p, root: true}
		t.dirs[p] = d
	}
	return d
}

// Roots are the paths of all roots, a directory before what is below it.
func (t *Tree) Roots() []string {
	var roots []string
	for p, d := range t.dirs {
		if d.root {
			roots = append(roots, p)
		}
	}
	slices.Sort(roots)
	return roots
}

// Dir is a directory that is known; nil where none is.
func (t *Tree) Dir(p string) *Dir { return t.dirs[p] }

// Start reads everything that is known again, what is on the screen first, and then walks on: there is a new connection.
func (t *Tree) Start(s Server) {
	t.server = s
	for _, d := range t.dirs {
		switch {
		case d.phase == leaf && d.data != dataUnwanted:
			t.requestData(d)
		case d.phase == leaf:
		case d.phase == unasked || d.phase == crowded || d.phase == absent:
			t.push(&t.Queue.Walk, Job{Kind: t.firstLook(d), Dir: d})
		case t.inFocus(d):
			t.push(&t.Queue.Urgent, Job{Kind: JobList, Dir: d})
		case d.shown != nil:
			t.push(&t.Queue.Reads, Job{Kind: JobList, Dir: d})
		default:
			t.push(&t.Queue.Walk, Job{Kind: JobList, Dir: d})
		}
	}
}

// Stop forgets what only held on a connection, which is gone: what was asked, and what was about to be. servers names
// those that could be asked next.
func (t *Tree) Stop(servers string) {
	t.server.Addr, t.server.Connected = servers, false
	t.Queue.clear()
	clear(t.due)
	t.sweep = sweep{}
	for _, d := range t.dirs {
		d.asked, d.due = idle, time.Time{}
		d.answers = false
		d.awaitNone()
		d.reread = nil
		if d.data == dataRead {
			d.data = dataStale
		}
		d.forgetAsked()
	}
}

// push queues a read of a directory as a whole, unless one is under way.
func (t *Tree) push(list *[]Job, j Job) {
	if j.Dir.asked != idle {
		j.Dir.asked = askAgain
		return
	}
	j.Dir.asked = underWay
	*list = append(*list, j)
}

// Wanted reports whether what a job asks for was not gone meanwhile.
func (t *Tree) Wanted(j Job) bool {
	return t.dirs[j.Dir.Path] == j.Dir && (j.Kind != JobGet || j.Dir.awaits(j.Name))
}

// Next is the earliest instant at which something is due; zero: nothing is.
func (t *Tree) Next() (at time.Time) {
	sooner := func(due time.Time) {
		if at.IsZero() || due.Before(at) {
			at = due
		}
	}
	for d := range t.due {
		sooner(d.due)
	}
	for _, due := range t.expiring {
		sooner(due)
	}
	return at
}

// Wake marks what is due: directories whose budget allows a list again, and locks that run out by themselves.
func (t *Tree) Wake(now time.Time) {
	for d := range t.due {
		if !now.Before(d.due) {
			delete(t.due, d)
			t.touch(d, now)
		}
	}
	for d, at := range t.expiring {
		if !now.Before(at) {
			delete(t.expiring, d)
			t.mark(d)
		}
	}
}

// Focus takes the paths of the locks on the screen, whose queues are read in full. fresh: one of them was not there before.
func (t *Tree) Focus(focus map[string]bool) (fresh bool) {
	before := t.focus
	t.focus = focus
	for p := range before {
		if d := t.dirs[p]; d != nil && !t.looksClosely(p) {
			d.access = nil
		}
	}
	for p := range focus {
		d := t.dirs[p]
		if d == nil {
			continue
		}
		if !before[p] {
			fresh = true
			for _, in := range d.places() {
				t.readWanted(in, &t.Queue.Urgent)
			}
		}
		if d.shown != nil && d.access == nil && t.looksClosely(p) {
			t.mark(d) // building it asks for its access lists
		}
	}
	return fresh
}

// inFocus reports whether the directory's lock is on the screen.
func (t *Tree) inFocus(d *Dir) bool {
	if len(t.focus) == 0 || t.focus[d.Path] {
		return len(t.focus) > 0
	}
	b := t.base(d)
	return b != nil && t.focus[b.Path]
}

// covered reports whether a watch on a root reports all changes of a node.
func (t *Tree) covered(p string) bool { return Covered(t.server.Watched, p) }

// Covered reports whether a node is one of the roots, or below one.
func Covered(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return root == "/" || p == root || strings.HasPrefix(p, root) && p[len(root)] == '/'
	})
}

// followed reports whether a directory's own changes, and those of its children, are reported.
func (t *Tree) followed(d *Dir) bool { return !d.secretive && t.covered(d.Path) }

// polled reports whether a directory is read again and again.
func (t *Tree) polled(d *Dir) bool { return !t.cfg.Once && !t.followed(d) }

func (t *Tree) id(d *Dir) inspect.ID { return inspect.ID{Backend: t.cfg.Backend, Path: d.Path} }

func (t *Tree) named(d *Dir) bool { return d.Path == t.cfg.Only }

// Chroot is put before every path on the servers; empty for none.
type Chroot string

// OnServer is a path as the servers know it.
func (c Chroot) OnServer(p string) string {
	switch {
	case c == "":
		return p
	case p == "/":
		return string(c)
	}
	return string(c) + p
}

// Shown is a server's path as we show it; false when it is outside the chroot.
func (c Chroot) Shown(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, string(c))
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, rest[0] == '/'
}

// parent is the directory that a node is in.
func parent(p string) string { return path.Dir(p) }

// join is the path of a child.
func join(dir, child string) string {
	if dir == "/" {
		return "/" + child
	}
	return dir + "/" + child
}
