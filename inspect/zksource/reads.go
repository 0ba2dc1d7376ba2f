package zksource

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
)

// read is one thing that is asked of the servers. The list is whole, beside what ensemble/reads.go has of the
// servers themselves: nothing else is sent but heartbeats
// (ping and sync) and the login, without which all of the backend is down. A watch is set by the read that it
// stands beside and needs its right; that of all below a root needs none, and says nothing of what may not be
// read (below.go). A request for many reads has an answer to each: one that was refused or failed is asked
// for again by itself, and noted by what came of that.
type read uint8

const (
	readStat read = iota
	readChildren
	readContender
	readPermit
	readOwn
	readAccess
)

// blindness lists the aspects that stay unknown without a read.
type blindness struct {
	name string // of the request
	// ofLock: unknown aspects of the lock that the read was for; ofBackend: of the backend where it was for no lock.
	ofLock, ofBackend []inspect.Aspect
	// right needed for the read, with the node in place of %s; empty: none.
	right string
}

// reads are all reads, and what becomes unknown without each.
var reads = [...]blindness{
	readStat:      {"exists", aspects(inspect.AspectHolders, inspect.AspectWaiters), aspects(inspect.AspectLocks), ""},
	readChildren:  {"getChildren", aspects(inspect.AspectHolders, inspect.AspectWaiters), aspects(inspect.AspectLocks), "READ on %s"},
	readContender: {"getData", aspects(inspect.AspectOwner), nil, "READ on %s"},
	readPermit:    {"getData", aspects(inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectOwner), nil, "READ on %s"},
	readOwn:       {"getData", aspects(inspect.AspectKind), aspects(inspect.AspectLocks), "READ on %s"},
	readAccess:    {"getACL", nil, nil, "READ or ADMIN on %s"}, // without it Access.Unknown
}

func aspects(list ...inspect.Aspect) []inspect.Aspect { return list }

// refusal is a read of a node that was refused, or failed.
type refusal struct {
	read read
	err  error
	at   time.Time // when it was last tried
}

// record keeps what came of a read of a node.
func (r *run) record(kept map[string]refusal, p string, what read, res result) {
	_, was := kept[p]
	if res.err != nil {
		kept[p] = refusal{read: what, err: res.err, at: res.at}
	} else {
		delete(kept, p)
	}
	r.backend.stale = r.backend.stale || was != (res.err != nil)
}

// unseen returns the aspects that are unknown because of a node that could not be read.
func (r *run) unseen(of []inspect.Aspect, p string, why refusal) []inspect.Unseen {
	b, node := &reads[why.read], r.cfg.onServer(p)
	one := inspect.Unseen{Where: r.serving(), Read: b.name + " " + node, Reason: reason(why.err)}
	if errors.Is(why.err, zk.ErrNoAuth) && b.right != "" {
		one.Right = fmt.Sprintf(b.right, node)
	}
	return each(of, one)
}

// each is one reason for each of the aspects.
func each(of []inspect.Aspect, one inspect.Unseen) []inspect.Unseen {
	list := make([]inspect.Unseen, len(of))
	for i, a := range of {
		list[i] = one
		list[i].Aspect = a
	}
	return list
}

func reason(err error) string {
	if errors.Is(err, zk.ErrNoAuth) {
		return "NoAuth"
	}
	return strings.TrimPrefix(err.Error(), "zk: ")
}

// serving is the server that answers us, or all of them while none does.
func (r *run) serving() string {
	if r.link != nil {
		if at := r.link.tap.Server(); at != "" {
			return at
		}
	}
	return strings.Join(r.cfg.Servers, ",")
}
