package act

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// directory is all that a lock's contenders are made of, as the leader has it.
type directory struct {
	id   inspect.ID
	self inspect.Znode // unknown when it is gone
	inspect.Directory
	at      time.Time
	recipes []recipe.Custom
	writer  string // the library whose names the contenders have
}

// look reads a lock's znode, its children, and those of the directories that its recipe may keep parts of it in.
func (z *zooKeeper) look(id inspect.ID) (directory, error) {
	d := directory{id: id, at: time.Now(), recipes: z.recipes}
	p := z.path(id.Path)
	if _, err := z.conn.Sync(p); err != nil {
		return d, z.unreachable("sync", p, err)
	}
	data, stat, err := z.conn.Get(p)
	if errors.Is(err, zk.ErrNoNode) {
		return d, nil
	}
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		return d, z.unreachable("read", p, err)
	}
	if err == nil {
		d.self, d.Data = znode(path.Base(id.Path), data, stat), data
	}
	if d.Children, err = z.read(id.Path); err != nil {
		return d, err
	}
	for _, part := range recipe.Parts(id.Path) {
		children, err := z.read(part.Path)
		if err != nil {
			return d, err
		}
		if children == nil {
			continue
		}
		if d.Parts == nil {
			d.Parts = map[string][]inspect.Znode{}
		}
		d.Parts[part.Place] = children
	}
	return d, nil
}

// lock is what the directory, or the znode by itself, is; nil when it is no lock.
func (d *directory) lock() *inspect.Lock {
	l, _ := d.Lock(d.id, d.at)
	if l == nil {
		l = inspect.NodeLock(d.id, d.self, true, d.at)
	}
	if l == nil {
		return nil
	}
	d.writer = l.Recipe
	return inspect.ReadBy(l, d.recipes)
}

// next is who would hold the lock without the contender seen; nil when nobody new would.
func (d *directory) next(before *inspect.Lock, seen *inspect.Contender) *inspect.Contender {
	rest := *d
	gone := func(n inspect.Znode) bool { return n.Name == seen.Name.Raw() && n.Czxid == seen.Czxid }
	rest.Children = slices.DeleteFunc(slices.Clone(d.Children), gone)
	rest.Parts = map[string][]inspect.Znode{}
	for place, children := range d.Parts {
		rest.Parts[place] = slices.DeleteFunc(slices.Clone(children), gone)
	}
	if gone(rest.self) {
		return nil
	}
	after := rest.lock()
	if after == nil {
		return nil
	}
	for i := range after.Holders {
		if was, ok := before.Contender(after.Holders[i].Name); ok && was.State != inspect.Holding {
			return &after.Holders[i]
		}
	}
	return nil
}

func znode(name string, data []byte, stat *zk.Stat) inspect.Znode {
	return inspect.Znode{
		Name: name, Known: true, Data: data, Czxid: stat.Czxid, Version: stat.Version, EphemeralOwner: stat.EphemeralOwner,
		Created: time.UnixMilli(stat.Ctime), Modified: time.UnixMilli(stat.Mtime),
	}
}
