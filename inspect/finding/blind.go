package finding

import (
	"fmt"
	"net"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// blind: what could not be seen of a lock, beside what its source says by itself. A master that did not answer; and, for a
// one-shot command, a contended ZooKeeper lock whose watch table or sessions no server told. (Who watches on asks for
// these only when somebody looks.)
//
// Evidence: unseen (votes, watches, sessions), masters (those that did not answer, addr and error).
func blind() inspect.Rule {
	return lockRule("blind", inspect.Info, func(c *inspect.Case) []inspect.Finding {
		if len(c.Lock.Masters) > 0 {
			return silentMasters(c)
		}
		if c.Backend == nil || c.Backend.Mode != inspect.ModeOnce || c.Backend.Kind != inspect.ZooKeeper || len(c.Lock.Waiters) == 0 {
			return nil
		}
		var unseen, what []string
		if c.Watches == nil {
			unseen, what = append(unseen, "watches"), append(what, "who watches whom")
		}
		if n := c.Watches.Lacks(c.Lock); n > 0 {
			unseen, what = append(unseen, "watches"), append(what, fmt.Sprintf("whom %d of the waiters watch", n))
		}
		if c.Sessions == nil {
			unseen, what = append(unseen, "sessions"), append(what, "which clients the sessions are")
		}
		if unseen == nil {
			return nil
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    "no server told " + strings.Join(what, " and ") + ": a lost wake-up or a dead client would not show",
			Evidence:   evidence{"unseen": unseen},
			Advice:     "give every server and its AdminServer in the target (" + admins(c.Backend) + "), or allow cons, wchs and wchp in 4lw.commands.whitelist",
		})
	})
}

// admins is a target's option for the AdminServers of a backend's servers, where they stand by default.
func admins(b *inspect.Backend) string {
	var list []string
	for i := range b.Servers {
		if host, _, err := net.SplitHostPort(b.Servers[i].Addr); err == nil && len(list) < listed {
			list = append(list, "http://"+net.JoinHostPort(inspect.Escape(host), "8080"))
		}
	}
	if list == nil {
		list = []string{"http://HOST:8080"}
	}
	return "admin=" + strings.Join(list, ",")
}

func silentMasters(c *inspect.Case) []inspect.Finding {
	l := c.Lock
	var masters []evidence
	first, ping := "", ""
	for i := range l.Masters {
		if m := &l.Masters[i]; !m.Up {
			if masters == nil {
				first, ping = at(m.Addr), redisCLI(c, m.Addr, "PING")
			}
			masters = append(masters, evidence{"addr": inspect.Escape(m.Addr), "error": inspect.Untrusted(strings.TrimPrefix(m.Error, "master "+m.Addr+": ")).Cut(120)})
		}
	}
	if masters == nil {
		return nil
	}
	what := first + " did not answer"
	if n := len(masters); n > 1 {
		what = fmt.Sprintf("%d of %d masters did not answer", n, len(l.Masters))
	}
	return one(inspect.Finding{
		Confidence: recipe.Certain,
		Message:    what + ": what it holds under this key is not known",
		Evidence:   evidence{"unseen": []string{"votes"}, "masters": masters},
		Advice:     "see why it does not answer (" + ping + "); until it answers, count its vote for nobody",
	})
}
