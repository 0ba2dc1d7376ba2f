package tree

import (
	"slices"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// A kazoo NonBlockingLease is a persistent node next to its clients' queue. Clients delete it and
// create it again under the same name, so it is read again whenever the directory is listed. Its
// previous value is remembered in between.

// rereadLease requests a directory's lease, if it has one.
func (d *Dir) rereadLease() {
	if !d.hasLease() {
		return
	}
	d.rereads(recipe.LeaseNode)
}

func (d *Dir) hasLease() bool {
	_, found := slices.BinarySearch(d.names, recipe.LeaseNode)
	return found
}

// wantsLease reports whether the directory's lease has to be read.
func (d *Dir) wantsLease() bool {
	return d.hasLease() && !d.awaits(recipe.LeaseNode) && (!d.has(recipe.LeaseNode) || d.reread[recipe.LeaseNode])
}

// betweenLeases reports whether the directory had a lease and has none now. A client may be about
// to create it again.
func (d *Dir) betweenLeases() bool { return d.lease != nil && !d.hasLease() }
