package tree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// hidden explains why the contenders of a directory are unknown, or returns nil if its children can
// be listed.
func (g *ground) hidden(d *Dir) []inspect.Unseen {
	switch why := g.blind.refused[d.Path]; d.phase {
	case shut:
		if d.count == 0 { // it is empty
			return nil
		}
		return g.unseen(reads[why.read].ofLock, d.Path, why)
	case crowded:
		return g.crowd(reads[readChildren].ofLock, d)
	}
	return nil
}

// crowd returns the aspects that are unknown because a directory has too many children to list.
func (g *ground) crowd(of []inspect.Aspect, d *Dir) []inspect.Unseen {
	return each(of, inspect.Unseen{
		Where: g.server.Addr, Read: "getChildren " + g.cfg.Chroot.OnServer(d.Path),
		Reason: fmt.Sprintf("it has %d children: more than %d are counted, not listed", d.count, g.cfg.Children),
	})
}

// mostNodes limits the unread nodes in a report of a backend.
const mostNodes = 50

// Unseen returns what is unknown about the backend because of unread nodes outside of locks.
func (g *ground) Unseen() []inspect.Unseen {
	var list []inspect.Unseen
	for _, kept := range [...]map[string]refusal{g.blind.refused, g.blind.sealed} {
		for _, p := range slices.Sorted(maps.Keys(kept)) {
			d, why := g.dirs[p], kept[p]
			if empty := why.read == readChildren && d != nil && d.count == 0; !empty && !g.isReportedOnLock(p) {
				list = append(list, g.unseen(reads[why.read].ofBackend, p, why)...)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(g.blind.crowds)) {
		if !g.isReportedOnLock(p) {
			list = append(list, g.crowd(reads[readChildren].ofBackend, g.blind.crowds[p])...)
		}
	}
	if g.blind.tooDeep != "" {
		list = append(list, inspect.Unseen{
			Aspect: inspect.AspectLocks, Where: g.server.Addr,
			Read:   "getChildren " + g.cfg.Chroot.OnServer(g.blind.tooDeep),
			Reason: fmt.Sprintf("it is deeper than %d levels", g.cfg.Depth),
		})
	}
	if g.blind.tooMany {
		list = append(list, g.leftOut())
	}
	if more := len(list) - mostNodes; more > 0 {
		rest := list[mostNodes]
		rest.Read = fmt.Sprintf("%d more nodes", more)
		if rest.Right != "" {
			rest.Right = "READ on them"
		}
		list = append(list[:mostNodes], rest)
	}
	return append(g.missingRoots(), list...)
}

// isReportedOnLock reports whether the unread part of a node is reported on a lock.
func (g *ground) isReportedOnLock(p string) bool {
	d := g.dirs[p]
	if d == nil {
		d = g.dirs[parent(p)]
	}
	if d == nil {
		return false
	}
	if d.shown != nil {
		return true
	}
	b := g.base(d)
	return b != nil && b.shown != nil && b.fold == folded
}

// missingRoots lists the roots that do not exist, most likely mistyped or not created yet.
func (g *ground) missingRoots() []inspect.Unseen {
	var list []inspect.Unseen
	for _, p := range g.cfg.Roots {
		d := g.dirs[p]
		if d == nil || d.phase != absent || g.cfg.Only != "" && !g.blind.noChroot {
			continue
		}
		at := g.cfg.Chroot.OnServer(p)
		if g.blind.noChroot {
			at = string(g.cfg.Chroot)
		}
		list = append(list, inspect.Unseen{
			Aspect: inspect.AspectLocks, Where: g.server.Addr, Read: "exists " + at,
			Reason: "there is no node " + at,
			Advice: "check the path in the target, or look again once the node exists",
		})
		if g.blind.noChroot {
			break
		}
	}
	return list
}

// sealedShown limits the nodes with unreadable data in a report of a lock.
const sealedShown = 3

// contendersUnseen returns what is unknown about a lock because of unreadable data.
func (g *ground) contendersUnseen(d *Dir) []inspect.Unseen {
	if len(g.blind.refused)+len(g.blind.sealed) == 0 {
		return nil
	}
	var list []inspect.Unseen
	shown := 0
	for _, in := range d.places() {
		for _, name := range in.names {
			p := join(in.Path, name)
			why, refused := g.blind.refused[p]
			if !refused || why.read == readChildren || shown == sealedShown {
				continue
			}
			shown++
			list = append(list, g.unseen(reads[why.read].ofLock, p, why)...)
		}
	}
	if why, refused := g.blind.sealed[d.Path]; refused {
		of := reads[why.read].ofLock
		if d.phase == leaf {
			of = reads[readContender].ofLock // it exists and is ephemeral; only its data is unknown
		}
		list = append(list, g.unseen(of, d.Path, why)...)
	}
	slices.SortFunc(list, func(a, b inspect.Unseen) int {
		return cmp.Or(cmp.Compare(a.Read, b.Read), cmp.Compare(a.Aspect, b.Aspect))
	})
	return list
}

// undecidable explains why the holder is unknown although all children were listed, because it
// depends on unreadable data. Otherwise it returns nil.
func (g *ground) undecidable(d *Dir) []inspect.Unseen {
	for _, name := range d.names {
		p := join(d.Path, name)
		if why, refused := g.blind.refused[p]; refused && why.read == readPermit {
			return g.unseen(reads[readPermit].ofLock, p, why)
		}
	}
	why, refused := g.blind.sealed[d.Path]
	if !refused {
		return nil
	}
	_, persistent := recipe.Singles(parent(d.Path))
	queue := d.parts[recipe.KazooQueue(d.Path)]
	permits := d.looksLikePermits() || queue != nil && queue.queued()
	if permits || d.single() && persistent && d.phase != leaf {
		return g.unseen(append(queueAspects[:2:2], inspect.AspectKind), d.Path, why)
	}
	return nil
}

// only returns the items about one aspect.
func only(a inspect.Aspect, list []inspect.Unseen) []inspect.Unseen {
	return slices.DeleteFunc(list, func(u inspect.Unseen) bool { return u.Aspect != a })
}
