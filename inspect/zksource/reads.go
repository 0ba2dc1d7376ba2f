package zksource

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zkadmin"
	"lockscope/internal/connect"
)

// read is one thing that is asked of the servers. The list is whole: nothing else is sent but heartbeats
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
	readConfig
	readStatus
	readSessions
	readWatchCount
	readWatches
)

// blindness lists the aspects that stay unknown without a read.
type blindness struct {
	// name of the request; for the servers' own reports the AdminServer's command, and word the four-letter word.
	name, word string
	// ofLock: unknown aspects of the lock that the read was for; ofBackend: of the backend where it was for no lock.
	ofLock, ofBackend []inspect.Aspect
	// right needed for the read, with the node in place of %s; empty: none.
	right string
}

// reads are all reads, and what becomes unknown without each.
var reads = [...]blindness{
	readStat:       {"exists", "", aspects(inspect.AspectHolders, inspect.AspectWaiters), aspects(inspect.AspectLocks), ""},
	readChildren:   {"getChildren", "", aspects(inspect.AspectHolders, inspect.AspectWaiters), aspects(inspect.AspectLocks), "READ on %s"},
	readContender:  {"getData", "", aspects(inspect.AspectOwner), nil, "READ on %s"},
	readPermit:     {"getData", "", aspects(inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectOwner), nil, "READ on %s"},
	readOwn:        {"getData", "", aspects(inspect.AspectKind), aspects(inspect.AspectLocks), "READ on %s"},
	readAccess:     {"getACL", "", nil, nil, "READ or ADMIN on %s"}, // without it Access.Unknown
	readConfig:     {"getData", "", nil, aspects(inspect.AspectSessions), "READ on %s"},
	readStatus:     {"server_stats", "srvr", nil, aspects(inspect.AspectServer), "srvr in 4lw.commands.whitelist"},
	readSessions:   {"connections", "cons", nil, aspects(inspect.AspectSessions), "cons in 4lw.commands.whitelist"},
	readWatchCount: {"watch_summary", "wchs", nil, aspects(inspect.AspectWatches), "wchs in 4lw.commands.whitelist"},
	readWatches:    {"watches_by_path", "wchp", nil, aspects(inspect.AspectWatches), "wchp in 4lw.commands.whitelist"},
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

// configUnseen returns the aspects that are unknown without the list of the ensemble's servers.
func configUnseen(l *link, err error) []inspect.Unseen {
	b := &reads[readConfig]
	return each(b.ofBackend, inspect.Unseen{
		Where: l.tap.Server(), Read: b.name + " " + configNode, Reason: reason(err), Right: fmt.Sprintf(b.right, configNode),
	})
}

// serverUnseen returns the aspects that are unknown without a server's answer. Where no AdminServer was given, a
// four-letter word that is not allowed is nothing that anybody asked for: the finding is for that.
func serverUnseen(s *zkadmin.Server, what read, err error) ([]inspect.Unseen, *inspect.Finding) {
	if err == nil {
		return nil, nil
	}
	b, given := &reads[what], s.HasAdmin()
	refused, closed := errors.Is(err, zkadmin.ErrUnauthorized), errors.Is(err, zkadmin.ErrNotAllowed)
	if closed && !given {
		return nil, neverGiven(s.Addr(), b)
	}
	one := inspect.Unseen{Where: s.Addr(), Read: b.word, Reason: why(err)}
	if given {
		one.Read = b.name
	}
	var rights []string
	if refused {
		rights = append(rights, adminCredentials)
	}
	if closed {
		rights = append(rights, b.right)
	}
	one.Right = strings.Join(rights, ", or ")
	return each(b.ofBackend, one), nil
}

// why returns the reason of an error of zkadmin, without the names that stand beside it.
func why(err error) string {
	failures, ok := errors.AsType[zkadmin.Failures](err)
	if !ok {
		return err.Error()
	}
	reasons := make([]string, len(failures))
	for i, f := range failures {
		if reasons[i] = connect.Reason(f.Err); len(failures) > 1 {
			reasons[i] = f.Read + ": " + reasons[i]
		}
	}
	return strings.Join(reasons, "; ")
}

const adminCredentials = "AdminServer credentials"

// adminUnseen reports that an AdminServer that was given did not answer, also where a four-letter word did instead.
func adminUnseen(f *zkadmin.Failure) []inspect.Unseen {
	if f == nil {
		return nil
	}
	one := inspect.Unseen{Where: f.Where, Read: f.Read, Reason: connect.Reason(f.Err)}
	if errors.Is(f, zkadmin.ErrUnauthorized) {
		one.Right = adminCredentials
	}
	return each(aspects(inspect.AspectServer), one)
}

// neverGiven is the finding about what a server would report with the four-letter word allowed or its
// AdminServer given.
func neverGiven(addr string, b *blindness) *inspect.Finding {
	host, _, _ := net.SplitHostPort(addr)
	return &inspect.Finding{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain, Subject: inspect.Subject{Server: inspect.Untrusted(addr), Unseen: b.ofBackend},
		Message:  fmt.Sprintf("server %s does not tell %s", addr, subject(b.ofBackend[0])),
		Evidence: map[string]any{"server": addr, "reason": b.word + " is not in its 4lw.commands.whitelist"},
		Steps: []inspect.Step{{
			Verb: inspect.VerbConfigure,
			Why: "give the server's AdminServer in the target (admin=http://" + net.JoinHostPort(inspect.Escape(host), "8080") +
				"), or allow cons, wchs and wchp in 4lw.commands.whitelist",
		}},
	}
}

func subject(a inspect.Aspect) string {
	switch a {
	case inspect.AspectSessions:
		return "who its clients are"
	case inspect.AspectWatches:
		return "who watches what"
	default:
		return "its role"
	}
}
