package lockops

import (
	"lockscope/inspect/recipe"
)

// entries sorts a directory's children into those of the queue. Children that no recipe knows are left out.
// stranger is a contender that cannot be queued with.
func (q *zkQueue) entries(children []string) (entries []recipe.Entry, stranger *RecipeError) {
	own, all := q.opts.queue, []recipe.Queue(nil)
	entries = make([]recipe.Entry, 0, len(children))
	for _, child := range children {
		e, ok := own.Parse(child)
		writer := own.Name
		if !ok || !own.Certain { // the surest recipe that knows the name wrote it
			if all == nil {
				all = recipe.Queues()
			}
			for _, other := range all {
				if e, ok = other.Parse(child); ok {
					writer = other.Name
					break
				}
			}
		}
		switch {
		case !ok || e.Role == recipe.Lease && !e.Live: // a semaphore's, of which no lock takes notice
		case q.queuesWith(writer, &e):
			entries = append(entries, e)
		default:
			stranger = &RecipeError{Path: q.lock.name, Want: own.Name, Found: writer, Child: child}
			if family(writer) == family(own.Name) {
				stranger.WantKind, stranger.FoundKind = q.kind(), kindWords(e.Role)
			}
		}
	}
	recipe.Sort(entries)
	return entries, stranger
}

// queuesWith reports whether a contender of ours and one that a recipe's client wrote wait for each other.
func (q *zkQueue) queuesWith(writer string, e *recipe.Entry) bool {
	own := q.opts.queue.Name
	if family(writer) != family(own) {
		return false
	}
	switch family(own) {
	case "curator": // a mutex and a read-write lock each take the other's nodes for the end of the queue
		return q.rw == (e.Role == recipe.ReadWrite)
	case "sequential":
		if !q.rw {
			return e.Role != recipe.ReadWrite && e.Role != recipe.Lease
		}
		mode, ok := recipe.ReadOrWrite(e.Name)
		e.Mode = mode
		return ok
	}
	return true
}

// family gives recipes whose clients wait for each other the same name: Curator and go-zookeeper order whatever ends in
// "lock-" and a number, kazoo ignores what it did not write, and the tutorials sort whole names, as do ZooKeeper's own
// recipes, which are theirs; madelson's readers and writers are named as those of the recipes page.
func family(name string) string {
	switch name {
	case "go-zookeeper":
		return "curator"
	case "zookeeper-recipes", "madelson":
		return "sequential"
	}
	return name
}

func kindWords(r recipe.Role) string {
	switch r {
	case recipe.ReadWrite:
		return "read-write lock"
	case recipe.Candidate:
		return "election"
	case recipe.Lease:
		return "semaphore"
	default:
		return "mutex"
	}
}
