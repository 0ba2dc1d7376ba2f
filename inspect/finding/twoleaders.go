package finding

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// twoLeaders reports a leader that an operator forced out with this program although its library never looks at
// its entry again (recipe.LeadsOn). While its session lives, it most likely still leads, alongside the new leader.
// A leader whose node vanished in another way is not reported: most have stepped down, which looks the same.
//
// Cause in the wild: a forced release of a Curator LeaderLatch, whose client leads until it restarts.
func twoLeaders() rule {
	return rule{
		name: "two-leaders", severity: inspect.Critical, sometimes: inspect.Info,
		means: "An operator forced out a leader that most likely still leads. The finding is info if the servers " +
			"do not say whether it is alive.",
		sure:     "Does the former leader still act as leader?",
		do:       "Restart the former leader.",
		not:      "Do not force out the new leader.",
		evidence: "contender (the former leader's entry), session, client, forced_at, leader (the new leader's entry)",
		restsOn:  []inspect.Aspect{inspect.AspectHolders}, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		var found []inspect.Finding
		for i := range c.Led {
			former := &c.Led[i]
			_, lives := c.Sessions[former.Session]
			if !lives && c.AllSessions || candidate(c.Lock, former.Session) {
				continue
			}
			found = append(found, leadsOn(c, former, lives))
		}
		return found
	})
}

// candidate reports whether a session has an entry. A client that is in the queue again has
// noticed.
func candidate(l *inspect.Lock, session int64) bool {
	return each.Any(l.Contenders, func(c *inspect.Contender) bool { return c.Owner.Session == session })
}

func leadsOn(c *inspect.Case, former *inspect.Led, lives bool) inspect.Finding {
	who := inspect.Contender{Name: former.Name}
	who.Owner.Session, who.Owner.Client = former.Session, c.Sessions[former.Session].Client
	e := about(&who)
	e["forced_at"] = stamp(former.At)
	e["cause"] = "its library never checks its own entry again"
	where := "although it has no entry"
	if len(c.Lock.Holders) > 0 {
		where = "next to " + describe.BriefOwner(&c.Lock.Holders[0])
		e["leader"] = c.Lock.Holders[0].Name.String()
	}
	f := inspect.Finding{
		Confidence: recipe.Likely, Evidence: e, Subject: who.Subject(),
		Message: fmt.Sprintf("%s was forced out but is still connected: it most likely still leads %s", describe.BriefOwner(&who), where),
		Steps:   do(restart("restart that client: it will not notice")),
	}
	if !lives {
		f.Severity, f.Confidence = inspect.Info, recipe.Possible
		f.Message = fmt.Sprintf("%s was forced out and may still lead %s: the servers do not say whether it is connected", describe.BriefOwner(&who), where)
	}
	return f
}
