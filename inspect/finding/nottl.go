package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// noTTL reports a Redis key that never expires, so it stays when its holder dies. It is only info
// for libraries that set no expiry by default, and if only the key's name suggests a lock. The rule
// is silent if not even the name suggests one: counters, flags, caches, bitmaps and job queues have
// no expiry either.
//
// Cause in the wild: SETNX and then EXPIRE, with a crash in between: redis-py #554, laravel/horizon
// #1738, ShedLock #65, Sentry PR #1509. [recipe.NoTTLByDefault] lists the libraries that set no TTL
// by default.
func noTTL() rule {
	return rule{
		name: "no-ttl", severity: inspect.Warning, sometimes: inspect.Info,
		means: "The key never expires, so it stays when its client dies. The finding is info if the library sets " +
			"no expiry by default.",
		sure: "The key's `PTTL` is -1 on these masters.",
		do: "Give it a TTL longer than the work (`ttl`), or release it once its client is gone. Set value and expiry in " +
			"one command (SET NX PX).",
		not:      "Do not set a TTL shorter than the work.",
		evidence: "contender or value, masters, until (the expiry that its value states)",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectExpiry},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		nameless := (l.Recipe == "token" || l.Recipe == "") && !recipe.NamesLock(l.ID.Path)
		if len(l.Masters) == 0 || l.Confidence == recipe.Possible && nameless {
			return nil
		}
		var holder *inspect.Contender
		if i := slices.IndexFunc(l.Holders, func(h inspect.Contender) bool { return h.NoExpiry }); i >= 0 {
			holder = &l.Holders[i]
		}
		vote := forever(l)
		if holder == nil && vote == nil {
			return nil
		}
		e := evidence{}
		f := inspect.Finding{Confidence: recipe.Certain, Evidence: e}
		of := ""
		if holder != nil {
			e = about(holder)
			if !holder.Nameless() {
				of = " of " + describe.BriefOwner(holder)
			}
			f.Steps = do(endOf(c, holder))
		} else {
			e["value"] = says(vote)
			of = " of " + describe.BriefName(vote.Value)
			f.Steps = do(ttl(c, "set an expiry", vote.Argument()))
		}
		on := []string{}
		for m := range eachVote(l) {
			if endless(m) && len(on) < listed {
				on = append(on, inspect.Escape(m.Addr))
			}
		}
		e["masters"] = on
		f.Message = fmt.Sprintf("the key%s never expires: it stays when its client dies", of)
		if until := untilOf(l); !until.IsZero() && until.Before(c.Now.Add(-writerSlack)) {
			e["until"] = stamp(until)
			f.Message += "; the end of its hold in the value, " + utc(until, c.Now) + ", has passed"
		}
		if l.NoTTLByDefault() {
			f.Severity = inspect.Info
			e["cause"] = l.Recipe + " sets no expiry by default"
			f.Steps = append(f.Steps, configure("give its locks a TTL"))
		} else {
			e["cause"] = "SETNX and EXPIRE in two steps with a crash in between (redis-py #554), " +
				"or a lock without a TTL"
			f.Steps = append(f.Steps, configure("set value and expiry in one command (SET NX PX)"))
		}
		f.Evidence = e
		if holder != nil {
			f.Subject = holder.Subject()
		}
		return one(f)
	})
}

// writerSlack is how far off the clock of a value's writer may be.
const writerSlack = time.Minute

// untilOf returns when the hold ends according to a plain key's value; zero if the value does not
// say.
func untilOf(l *inspect.Lock) (until time.Time) {
	for m := range eachVote(l) {
		if m.Held == nil && endless(m) && m.Digest == "" {
			until = recipe.DecodeToken(l.ID.Path, m.Value.Raw()).Until
		}
	}
	return until
}

// endOf advises giving a holder's key an expiry. A working client keeps its lock, and the lock of a
// dead client expires. If no TTL on the key can do that, it advises a release.
func endOf(c *inspect.Case, holder *inspect.Contender) inspect.Step {
	if structured(c.Lock) {
		if _, ok := recipe.TTLKeys(c.Lock.Recipe, string(c.Lock.Kind), c.Lock.ID.Path); !ok {
			return releaseOf(c, "if its client is gone", holder)
		}
	}
	return ttl(c, "set an expiry longer than its work takes", holder.Argument())
}

// structured reports whether the masters hold more than a plain string under the lock's key.
func structured(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(v inspect.Vote) bool { return v.Held != nil })
}

// advisedTTL is the TTL in the advised command, which the operator replaces with the time that the
// work takes.
const advisedTTL = 10 * time.Minute

// ttl is the step that sets an expiry on an owner's key.
func ttl(c *inspect.Case, why string, owner inspect.Untrusted) inspect.Step {
	s := inspect.Step{Verb: inspect.VerbTTL, Lock: c.Lock.ID, Owner: owner, Why: why}
	return act(c, s, " --set "+describe.Exact(advisedTTL))
}
