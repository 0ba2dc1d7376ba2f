package tree

import (
	"path"
	"strings"
	"time"
)

// Config is where a walk begins and how far it goes.
type Config struct {
	Backend string
	// Roots of the walk; Only, if not empty, is the one lock to read.
	Roots []string
	Only  string
	// Chroot precedes every path on the servers.
	Chroot Chroot
	// Once reads each node once, without following changes. Eager has no budget for reads.
	Once, Eager bool
	// Depth, Children, Dirs and Relists are fields of zksource.Budget.
	Depth, Children, Dirs int
	Relists               float64
	// Intervals of repeated reads: see the beats of zksource.
	Focused, Others, Doubtful, Sweep time.Duration
}

// Server is what the connection supports.
type Server struct {
	// Addr names the server that answers, or all servers while none does.
	Addr string
	// Many reads can share a request.
	Many bool
	// Watched are the roots with a watch of all changes below.
	Watched []string
	// Since is when the connection was made; Lost counts the earlier connections that broke.
	Since time.Time
	Lost  int
}

// Chroot precedes every path on the servers; empty for none.
type Chroot string

// OnServer returns a path as the servers know it.
func (c Chroot) OnServer(p string) string {
	switch {
	case c == "":
		return p
	case p == "/":
		return string(c)
	}
	return string(c) + p
}

// Shown returns a server's path as we display it; false if it is outside the chroot.
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

// parent returns the directory of a node.
func parent(p string) string { return path.Dir(p) }

// join returns the path of a child.
func join(dir, child string) string {
	if dir == "/" {
		return "/" + child
	}
	return dir + "/" + child
}
