package zksource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// hidden returns what keeps the contenders of a directory unknown; nil when its children can be listed.
func (r *run) hidden(d *dir) []inspect.Unseen {
	switch why := r.refused[d.path]; d.phase {
	case shut:
		if d.count == 0 { // there is nothing in it
			return nil
		}
		return r.unseen(reads[why.read].ofLock, d.path, why)
	case crowded:
		return r.crowd(reads[readChildren].ofLock, d)
	}
	return nil
}

// crowd returns the aspects that are unknown because a directory has too many children to list.
func (r *run) crowd(of []inspect.Aspect, d *dir) []inspect.Unseen {
	return each(of, inspect.Unseen{
		Where: r.serving(), Read: "getChildren " + r.cfg.onServer(d.path),
		Reason: fmt.Sprintf("it has %d children: more than %d are counted, not listed", d.count, r.cfg.Budget.Children),
	})
}

// mostNodes limits the unread nodes that a backend names.
const mostNodes = 50

// nodesUnseen returns the aspects of the backend that are unknown because of unread nodes outside of locks.
func (r *run) nodesUnseen() []inspect.Unseen {
	var list []inspect.Unseen
	for _, kept := range [...]map[string]refusal{r.refused, r.sealed} {
		for _, p := range slices.Sorted(maps.Keys(kept)) {
			d, why := r.dirs[p], kept[p]
			if empty := why.read == readChildren && d != nil && d.count == 0; !empty && !r.standsInLock(p) {
				list = append(list, r.unseen(reads[why.read].ofBackend, p, why)...)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(r.crowds)) {
		if !r.standsInLock(p) {
			list = append(list, r.crowd(reads[readChildren].ofBackend, r.crowds[p])...)
		}
	}
	if r.tooDeep != "" {
		list = append(list, inspect.Unseen{
			Aspect: inspect.AspectLocks, Where: r.serving(), Read: "getChildren " + r.cfg.onServer(r.tooDeep),
			Reason: fmt.Sprintf("it is deeper than %d levels", r.cfg.Budget.Depth),
		})
	}
	if r.tooMany {
		list = append(list, r.leftOut())
	}
	if more := len(list) - mostNodes; more > 0 {
		rest := list[mostNodes]
		rest.Read = fmt.Sprintf("%d more nodes", more)
		if rest.Right != "" {
			rest.Right = "READ on them"
		}
		list = append(list[:mostNodes], rest)
	}
	return append(r.missingRoots(), list...)
}

// standsInLock reports whether what could not be read of a node is reported on a lock.
func (r *run) standsInLock(p string) bool {
	d := r.dirs[p]
	if d == nil {
		d = r.dirs[parent(p)]
	}
	if d == nil {
		return false
	}
	if d.reported != nil {
		return true
	}
	b := r.base(d)
	return b != nil && b.reported != nil && b.folded
}

// missingRoots are the roots that do not exist: mistyped, most likely, or not made yet.
func (r *run) missingRoots() []inspect.Unseen {
	var list []inspect.Unseen
	for _, p := range r.cfg.Roots {
		d := r.dirs[p]
		if d == nil || d.phase != absent || r.cfg.Only != "" && !r.noChroot {
			continue
		}
		at := r.cfg.onServer(p)
		if r.noChroot {
			at = r.cfg.Chroot
		}
		list = append(list, inspect.Unseen{
			Aspect: inspect.AspectLocks, Where: r.serving(), Read: "exists " + at,
			Reason: "there is no node " + at, Advice: "check the path in the target; where it is to be made yet, look again then",
		})
		if r.noChroot {
			break
		}
	}
	return list
}

// sealedShown limits the nodes with unreadable data that a lock names.
const sealedShown = 3

// contendersUnseen returns the aspects of a lock that are unknown because of contenders whose data could not be read.
func (r *run) contendersUnseen(d *dir) []inspect.Unseen {
	if len(r.refused)+len(r.sealed) == 0 {
		return nil
	}
	var list []inspect.Unseen
	shown := 0
	for _, in := range append([]*dir{d}, slices.Collect(maps.Values(d.parts))...) {
		for _, name := range in.names {
			p := join(in.path, name)
			why, refused := r.refused[p]
			if !refused || why.read == readChildren || shown == sealedShown {
				continue
			}
			shown++
			list = append(list, r.unseen(reads[why.read].ofLock, p, why)...)
		}
	}
	if why, refused := r.sealed[d.path]; refused {
		of := reads[why.read].ofLock
		if d.phase == leaf {
			of = reads[readContender].ofLock // it is there, and ephemeral: only what it says is unknown
		}
		list = append(list, r.unseen(of, d.path, why)...)
	}
	slices.SortFunc(list, func(a, b inspect.Unseen) int {
		return cmp.Or(cmp.Compare(a.Read, b.Read), cmp.Compare(a.Aspect, b.Aspect))
	})
	return list
}

// undecidable returns what keeps the holder unknown although all children were listed: data that decide it
// and may not be read. nil where they may be, or nothing depends on them.
func (r *run) undecidable(d *dir) []inspect.Unseen {
	for _, name := range d.names {
		p := join(d.path, name)
		if why, refused := r.refused[p]; refused && why.read == readPermit {
			return r.unseen(reads[readPermit].ofLock, p, why)
		}
	}
	why, refused := r.sealed[d.path]
	if !refused {
		return nil
	}
	_, persistent := recipe.Singles(parent(d.path))
	queue := d.parts[recipe.KazooQueue(d.path)]
	if permits := d.hasPermits() || queue != nil && queue.queued(); permits || d.single && persistent && d.phase != leaf {
		return r.unseen(aspects(inspect.AspectKind, inspect.AspectHolders, inspect.AspectWaiters), d.path, why)
	}
	return nil
}

// only keeps those about one aspect.
func only(a inspect.Aspect, list []inspect.Unseen) []inspect.Unseen {
	return slices.DeleteFunc(list, func(u inspect.Unseen) bool { return u.Aspect != a })
}
