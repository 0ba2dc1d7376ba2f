package ensemble

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/connect"
)

// read is a kind of request about the servers themselves.
type read uint8

const (
	readConfig read = iota
	readStatus
	readSessions
	readWatchCount
	readWatches
)

// blindness is the aspect that stays unknown if a read fails.
type blindness struct {
	// name is the request or the AdminServer's command, word the four-letter word.
	name, word string
	unknown    inspect.Aspect
	// right is the right that the read needs.
	right string
}

// reads are all reads, and what becomes unknown without each.
var reads = [...]blindness{
	readConfig:     {"getData", "", inspect.AspectSessions, "READ on " + configNode},
	readStatus:     {"server_stats", "srvr", inspect.AspectServer, "srvr in 4lw.commands.whitelist"},
	readSessions:   {"connections", "cons", inspect.AspectSessions, "cons in 4lw.commands.whitelist"},
	readWatchCount: {"watch_summary", "wchs", inspect.AspectWatches, "wchs in 4lw.commands.whitelist"},
	readWatches:    {"watches_by_path", "wchp", inspect.AspectWatches, "wchp in 4lw.commands.whitelist"},
}

// configUnseen reports what is unknown because a server refused to list the ensemble's servers.
func configUnseen(server string) inspect.Unseen {
	b := &reads[readConfig]
	return inspect.Unseen{
		Aspect: b.unknown, Where: server, Read: b.name + " " + configNode, Reason: "NoAuth", Right: b.right,
	}
}

// serverUnseen reports what is unknown without a server's answer. If the four-letter word is not
// allowed and no AdminServer is configured, the user did not ask for that answer. Then it returns a
// finding instead.
func serverUnseen(s *zkadmin.Server, what read, err error) (*inspect.Unseen, *inspect.Finding) {
	if err == nil {
		return nil, nil
	}
	b, given := &reads[what], s.HasAdmin()
	refused, closed := errors.Is(err, zkadmin.ErrUnauthorized), errors.Is(err, zkadmin.ErrNotAllowed)
	if closed && !given {
		return nil, notAllowed(s.Addr(), b)
	}
	u := &inspect.Unseen{Aspect: b.unknown, Where: s.Addr(), Read: b.word, Reason: why(err)}
	if given {
		u.Read = b.name
	}
	if errors.Is(err, errTooMany) {
		u.Advice = "go by the order of the queue: waiters normally watch as their library does"
	}
	var rights []string
	if refused {
		rights = append(rights, adminCredentials)
	}
	if closed {
		rights = append(rights, b.right)
	}
	u.Right = strings.Join(rights, ", or ")
	return u, nil
}

// why returns the reason of a zkadmin error, without the names that are displayed next to it.
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

// adminUnseen reports that a configured AdminServer did not answer, even if a four-letter word
// replaced it.
func adminUnseen(f *zkadmin.Failure) inspect.Unseen {
	u := inspect.Unseen{Aspect: inspect.AspectServer, Where: f.Where, Read: f.Read, Reason: connect.Reason(f.Err)}
	if errors.Is(f, zkadmin.ErrUnauthorized) {
		u.Right = adminCredentials
	}
	return u
}

// notAllowed is the finding about facts that a server would report through the four-letter word or
// an AdminServer.
func notAllowed(addr string, b *blindness) *inspect.Finding {
	host, _, _ := net.SplitHostPort(addr)
	return &inspect.Finding{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
		Subject:  inspect.Subject{Server: inspect.Untrusted(addr), Unseen: []inspect.Aspect{b.unknown}},
		Message:  fmt.Sprintf("server %s does not report %s", addr, subject(b.unknown)),
		Evidence: map[string]any{"server": addr, "reason": b.word + " is not in its 4lw.commands.whitelist"},
		Steps: []inspect.Step{{
			Verb: inspect.VerbConfigure,
			Why: "add the server's AdminServer to the target (admin=http://" +
				net.JoinHostPort(inspect.Escape(host), "8080") +
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
