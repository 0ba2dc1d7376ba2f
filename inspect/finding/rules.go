package finding

import (
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// Rules are all rules, the worst first. What a rule needs and does not know (a table that was not read, a history that is
// too short) makes it silent.
func Rules() []inspect.Rule {
	return []inspect.Rule{
		deadlock(),
		splitQuorum(),
		mixedRecipes(),
		semaphoreOvercommit(),
		persistentContender(),
		stuckHolder(),
		ghostOwner(),
		missingWatch(),
		lostWakeUp(),
		herd(),
		alienChild(),
		noTTL(),
		renewalStopped(),
		zombieRenewal(),
		minorityLeftover(),
		suspectTarget(),
		serversDisagree(),
		thinMargin(),
		masterRestarted(),
		clockSkew(),
		staleFairQueue(),
		starvation(),
		evictionRisk(),
		foreignValue(),
		blind(),
		sequenceWrap(),
		selfWait(),
	}
}

// lockRule is a rule about single locks. Its findings get its name, and its severity where they have none.
func lockRule(name string, severity inspect.Severity, diagnose func(*inspect.Case) []inspect.Finding) inspect.Rule {
	return inspect.Rule{Name: name, AsOf: passing[name], Lock: func(c inspect.Case) []inspect.Finding {
		return tempered(&c, name, signed(name, severity, diagnose(&c)))
	}}
}

// historyRule is a rule about single locks that says something only of what was watched for a while.
func historyRule(name string, severity inspect.Severity, diagnose func(*inspect.Case) []inspect.Finding) inspect.Rule {
	r := lockRule(name, severity, func(c *inspect.Case) []inspect.Finding {
		if c.History == nil {
			return nil
		}
		return diagnose(c)
	})
	r.NeedsHistory = true
	return r
}

// backendRule is a rule about backends.
func backendRule(name string, severity inspect.Severity, diagnose func(*inspect.Backend, time.Time) []inspect.Finding) inspect.Rule {
	return inspect.Rule{Name: name, Backend: func(b *inspect.Backend, now time.Time) []inspect.Finding {
		return signed(name, severity, diagnose(b, now))
	}}
}

func signed(name string, severity inspect.Severity, fs []inspect.Finding) []inspect.Finding {
	for i := range fs {
		fs[i].Rule = name
		if fs[i].Severity == "" {
			fs[i].Severity = severity
		}
	}
	return fs
}

// again is the finding of a rule that the lock has already, where it says the same of the same contender; else nil. Many
// locks that stay as they are cost less when what follows from that is not put together again.
func again(c *inspect.Case, rule, message string, confidence recipe.Confidence, about *inspect.Contender) []inspect.Finding {
	for _, f := range c.Lock.Findings {
		if f.Rule == rule && f.Message == message && f.Confidence == confidence && f.Subject.Is(about) && tracesTo(f.Evidence, about) {
			return one(f)
		}
	}
	return nil
}

// tracesTo reports whether evidence has all that is known of who stands behind a contender: the advice names it.
func tracesTo(e evidence, c *inspect.Contender) bool {
	has := func(key, want string) bool {
		text, _ := e[key].(string)
		return text == want
	}
	return has("session", inspect.SessionID(c.Owner.Session)) && has("client", inspect.Escape(c.Owner.Client))
}

func one(f inspect.Finding) []inspect.Finding { return []inspect.Finding{f} }
