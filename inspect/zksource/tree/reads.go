package tree

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// read is one kind of request to the servers. Besides these and the reads in ensemble/reads.go,
// only heartbeats (ping and sync) and the login are sent. If the login fails, the backend is down.
// The watch on a root needs no right, and does not cover unreadable nodes. A refused or failed part
// of a multi-read is repeated as a single read, and that outcome is recorded.
type read uint8

const (
	readStat read = iota
	readChildren
	readContender
	readPermit
	readOwn
)

// blindness lists the aspects that stay unknown without a read.
type blindness struct {
	name string // the request's name
	// ofLock lists the unknown aspects of the lock, or ofBackend those of the backend if the node
	// belongs to no lock.
	ofLock, ofBackend []inspect.Aspect
	// right is the right that the read needs, with %s for the node, or empty.
	right string
}

// reads lists all reads, and what becomes unknown without each.
var reads = [...]blindness{
	readStat:      {"exists", queueAspects, lockAspects, ""},
	readChildren:  {"getChildren", queueAspects, lockAspects, "READ on %s"},
	readContender: {"getData", []inspect.Aspect{inspect.AspectOwner}, nil, "READ on %s"},
	readPermit:    {"getData", append(queueAspects[:2:2], inspect.AspectOwner), nil, "READ on %s"},
	readOwn:       {"getData", []inspect.Aspect{inspect.AspectKind}, lockAspects, "READ on %s"},
}

var (
	queueAspects = []inspect.Aspect{inspect.AspectHolders, inspect.AspectWaiters}
	lockAspects  = []inspect.Aspect{inspect.AspectLocks}
)

// blind records what could not be read, or was left out.
type blind struct {
	refused map[string]refusal // nodes that could not be read or listed, by path
	sealed  map[string]refusal // directories and nodes that are locks whose own data could not be read, by path
	crowds  map[string]*Dir    // with too many children to list, by path

	tooDeep  string    // the first directory below the depth limit, or empty
	tooMany  bool      // some directories or names were left out
	noChroot bool      // the chroot does not exist
	doubtAt  time.Time // when a refused read was last retried
}

func newBlind() blind {
	return blind{refused: map[string]refusal{}, sealed: map[string]refusal{}, crowds: map[string]*Dir{}}
}

// forget drops the records of a deleted directory.
func (b *blind) forget(p string) {
	delete(b.refused, p)
	delete(b.sealed, p)
	delete(b.crowds, p)
}

// refusal is a refused or failed read of a node.
type refusal struct {
	read read
	err  error
	at   time.Time // when it was last tried
}

// record keeps the outcome of reading a node, and reports whether it is news.
func (b *blind) record(kept map[string]refusal, p string, what read, r *Reply) (changed bool) {
	was, refused := kept[p]
	if r.Err == nil {
		delete(kept, p)
		return refused
	}
	kept[p] = refusal{read: what, err: r.Err, at: r.At}
	return !refused || was.read != what || reason(was.err) != reason(r.Err)
}

// unseen returns the aspects that are unknown because of a node that could not be read.
func (g *ground) unseen(of []inspect.Aspect, p string, why refusal) []inspect.Unseen {
	b, node := &reads[why.read], g.cfg.Chroot.OnServer(p)
	one := inspect.Unseen{Where: g.server.Addr, Read: b.name + " " + node, Reason: reason(why.err)}
	if errors.Is(why.err, ErrDenied) && b.right != "" {
		one.Right = fmt.Sprintf(b.right, node)
	}
	return each(of, one)
}

// each repeats one reason for each of the aspects.
func each(of []inspect.Aspect, one inspect.Unseen) []inspect.Unseen {
	list := make([]inspect.Unseen, len(of))
	for i, a := range of {
		list[i] = one
		list[i].Aspect = a
	}
	return list
}

func reason(err error) string {
	if errors.Is(err, ErrDenied) {
		return ErrDenied.Error()
	}
	return strings.TrimPrefix(err.Error(), "zk: ")
}

// Refusal returns why the first unreadable root cannot be read, or nil if all can be.
func (g *ground) Refusal() (root string, err error) {
	for _, p := range g.cfg.Roots {
		if d := g.dirs[p]; d != nil && d.phase == shut && g.hidden(d) != nil {
			return p, g.blind.refused[p].err
		}
	}
	return "", nil
}
