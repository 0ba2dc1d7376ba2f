package tree

import (
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// wants decides what to read next, and when.
type wants struct {
	ground
	// Queue holds the wanted reads.
	Queue Queue

	names    int           // number of children's names in all directories
	due      map[*Dir]bool // directories that wait for their own budget
	sweep    sweep
	walkedAt time.Time // when Poll last checked all directories
}

// AddRoots starts the walk at the roots.
func (w *wants) AddRoots() {
	for _, p := range w.cfg.Roots {
		w.root(p)
	}
	if w.cfg.Only != "" && w.cfg.Only != "/" {
		w.root(recipe.KazooQueuePath(w.cfg.Only))
	}
}

// root makes a directory a root.
func (w *wants) root(p string) *Dir {
	d := w.dirs[p]
	if d == nil {
		d = &Dir{Path: p, root: true}
		w.dirs[p] = d
	}
	return d
}

// Start handles a new connection. It requests everything known again, starting with the nodes on
// the screen, and then continues the walk.
func (w *wants) Start(s Server) {
	w.server = s
	for _, d := range w.dirs {
		switch {
		case d.phase == leaf && d.data != dataUnwanted:
			w.requestData(d)
		case d.phase == leaf:
		case d.phase == unasked || d.phase == crowded || d.phase == absent:
			w.push(&w.Queue.Walk, Job{Kind: w.firstLook(d), Dir: d})
		case w.inFocus(d):
			w.push(&w.Queue.Urgent, Job{Kind: JobList, Dir: d})
		case d.shown != nil:
			w.push(&w.Queue.Reads, Job{Kind: JobList, Dir: d})
		default:
			w.push(&w.Queue.Walk, Job{Kind: JobList, Dir: d})
		}
	}
}

// Stop forgets the state of the lost connection: outstanding requests and awaited reads. servers
// names the servers that could be asked next.
func (w *wants) Stop(servers string) {
	w.server.Addr = servers
	w.Queue.clear()
	clear(w.due)
	w.sweep = sweep{}
	for _, d := range w.dirs {
		d.asked, d.due = idle, time.Time{}
		d.answers = false
		d.awaitNone()
		d.reread = nil
		if d.data == dataRead {
			d.data = dataStale
		}
	}
}

// push queues a read of a directory as a whole, unless one is queued or in flight.
func (w *wants) push(list *[]Job, j Job) {
	if j.Dir.asked != idle {
		j.Dir.asked = askAgain
		return
	}
	j.Dir.asked = underWay
	*list = append(*list, j)
}

// Wanted reports whether a job's answer is still needed.
func (w *wants) Wanted(j Job) bool {
	return w.dirs[j.Dir.Path] == j.Dir && (j.Kind != JobGet || j.Dir.awaits(j.Name))
}
