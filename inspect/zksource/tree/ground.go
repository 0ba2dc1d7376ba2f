package tree

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// ground holds the known nodes and looks things up in them. It neither requests reads nor builds
// locks.
type ground struct {
	// FirstPass is set once all directories have been read.
	FirstPass bool

	cfg    Config
	server Server
	dirs   map[string]*Dir
	focus  map[string]bool
	blind  blind
	empty  emptyCount
}

// Roots returns the paths of all roots, a directory before those below it.
func (g *ground) Roots() []string {
	var roots []string
	for p, d := range g.dirs {
		if d.root {
			roots = append(roots, p)
		}
	}
	slices.Sort(roots)
	return roots
}

// Dir returns a known directory, or nil.
func (g *ground) Dir(p string) *Dir { return g.dirs[p] }

// inFocus reports whether the directory's lock is on the screen.
func (g *ground) inFocus(d *Dir) bool {
	if len(g.focus) == 0 || g.focus[d.Path] {
		return len(g.focus) > 0
	}
	b := g.base(d)
	return b != nil && g.focus[b.Path]
}

// covered reports whether a watch on a root reports all changes of a node.
func (g *ground) covered(p string) bool { return Covered(g.server.Watched, p) }

// Covered reports whether a node is one of the roots, or below one.
func Covered(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return root == "/" || p == root || strings.HasPrefix(p, root) && p[len(root)] == '/'
	})
}

// followed reports whether a directory's own changes, and those of its children, are reported.
func (g *ground) followed(d *Dir) bool { return !d.hasUnreadable && g.covered(d.Path) }

// polled reports whether a directory is read repeatedly.
func (g *ground) polled(d *Dir) bool { return !g.cfg.Once && !g.followed(d) }

func (g *ground) id(d *Dir) inspect.ID { return inspect.ID{Backend: g.cfg.Backend, Path: d.Path} }

func (g *ground) named(d *Dir) bool { return d.Path == g.cfg.Only }
