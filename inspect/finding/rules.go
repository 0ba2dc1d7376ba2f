package finding

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// rule defines one rule; each has its own file. [Rules], [Passing] and docs/findings.md are made
// from these.
type rule struct {
	name string
	// severity is the default of its findings; sometimes is the other possible one, explained in
	// means.
	severity, sometimes inspect.Severity
	// For docs/findings.md: the rule's meaning, how to check it, what to do, and what not to do.
	means, sure, do, not string
	// evidence lists the keys of its evidence; contender includes the keys of about.
	evidence string
	// restsOn are the aspects that must be known for the rule to be right about a lock.
	restsOn []inspect.Aspect
	// asOf dates the rule's input, by our clock. It is set if one look may catch a change halfway.
	// Examples are an acquisition that asks the masters one by one, a waiter between creating its
	// node and setting its watch, a client moving between servers, and two locks read one after the
	// other.
	asOf func(*inspect.Case) time.Time
	// quiet rules are silent on locks that are only possible, since registries, caches, counters
	// and job queues look the same.
	quiet bool
	// asFound rules keep their findings unchanged, even if aspects of the lock are unknown.
	asFound bool
	// needsHistory rules need a lock to have been watched for a while.
	needsHistory bool
	lock         func(*inspect.Case) []inspect.Finding
	backend      func(*inspect.Backend, time.Time) []inspect.Finding
}

func (r rule) ofLocks(diagnose func(*inspect.Case) []inspect.Finding) rule {
	r.lock = diagnose
	return r
}

func (r rule) ofBackends(diagnose func(*inspect.Backend, time.Time) []inspect.Finding) rule {
	r.backend = diagnose
	return r
}

// all rules, the worst first. A rule is silent if something that it needs is unknown, such as an
// unread table or a short history.
var all = []rule{
	noQuorum(),
	deadlock(),
	splitQuorum(),
	mixedRecipes(),
	semaphoreOvercommit(),
	persistentContender(),
	twoLeaders(),
	writesRefused(),
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
	replicaFailover(),
	emptyLocks(),
	outlierClient(),
	sequenceWrap(),
	selfWait(),
}

// Rules returns all rules, the worst first.
func Rules() []inspect.Rule { return each.Of(all, rule.rule) }

// Passing reports whether a rule's finding counts only if a second look, [inspect.SettleFor] later, finds
// the same.
func Passing(name string) bool {
	return slices.ContainsFunc(all, func(r rule) bool { return r.name == name && r.asOf != nil })
}

// rule tempers the rule's findings by what is known about the lock, and signs them.
func (r rule) rule() inspect.Rule {
	out := inspect.Rule{Name: r.name, NeedsHistory: r.needsHistory, AsOf: r.asOf}
	if r.lock != nil {
		out.Lock = func(c *inspect.Case) []inspect.Finding {
			if r.needsHistory && c.History == nil {
				return nil
			}
			return r.sign(c.Lock.ID, r.temper(c, r.lock(c)))
		}
	}
	if r.backend != nil {
		out.Backend = func(b *inspect.Backend, now time.Time) []inspect.Finding {
			return r.sign(inspect.ID{}, r.backend(b, now))
		}
	}
	return out
}

// sign adds the rule's name and default severity to findings, and the lock to their steps. A
// restart applies to the contender that the finding is about.
func (r *rule) sign(lock inspect.ID, fs []inspect.Finding) []inspect.Finding {
	for i := range fs {
		f := &fs[i]
		f.Rule, f.Severity = r.name, cmp.Or(f.Severity, r.severity)
		for j := range f.Steps {
			s := &f.Steps[j]
			s.Lock = cmp.Or(s.Lock, lock)
			if s.Verb == inspect.VerbRestart {
				s.Owner = cmp.Or(inspect.Untrusted(f.Subject.Digest), f.Subject.Contender)
			}
		}
	}
	return fs
}

// blindAdvice replaces the advice of findings that depend on unseen aspects.
const blindAdvice = "do nothing yet: part of the evidence could not be read (see blind); look again once it can be"

// oldAdvice replaces the advice of findings that depend on watches read a while ago.
const oldAdvice = "look at the lock (lockscope show, or its chain) before you act: the watches were read a while ago, and may have changed"

// possibleAdvice replaces the advice of findings about locks that are only possible.
const possibleAdvice = "find out what writes it before you act: it may not be a lock"

// suspectAdvice replaces the advice about locks on servers that are most likely independent.
const suspectAdvice = "give each server its own target first (see suspect-target), then look at this lock again"

// temper adapts a rule's findings to what is known about the lock. A lock that is only possible
// (known by its name alone, or by a value of unknown shape) gets no finding above info. The only
// advice is to find out what writes it. If an aspect that the rule depends on was unseen, or was
// read long ago, its findings are only possible and advise no action.
func (r *rule) temper(c *inspect.Case, found []inspect.Finding) []inspect.Finding {
	if len(found) == 0 || r.asFound {
		return found
	}
	onWatches := slices.Contains(r.restsOn, inspect.AspectWatches)
	switch l := c.Lock; {
	case onWatches && c.WatchesAre == inspect.TableVoid:
		return nil
	case l.Confidence == recipe.Possible:
		if r.quiet {
			return nil
		}
		for i := range found {
			f := &found[i]
			f.Severity, f.Confidence = inspect.Info, recipe.Possible
			f.Steps = do(wait(possibleAdvice))
		}
	case c.Spread.Suspect() || mixture(c.Backend):
		for i := range found {
			found[i].Steps = do(configure(suspectAdvice))
		}
	case slices.ContainsFunc(r.restsOn, l.Unknown):
		for i := range found {
			f := &found[i]
			f.Confidence = recipe.Possible
			f.Steps = do(wait(blindAdvice))
		}
	case onWatches && c.WatchesAre == inspect.TableOld:
		for i := range found {
			found[i].Confidence, found[i].Steps = recipe.Possible, do(wait(oldAdvice))
		}
	}
	return found
}

// mixture reports whether several servers answer at one address of a backend.
func mixture(b *inspect.Backend) bool {
	return b != nil && slices.ContainsFunc(b.Servers, func(s inspect.Server) bool { return s.Several })
}

func one(f inspect.Finding) []inspect.Finding { return []inspect.Finding{f} }

// known returns the instant up to which the lock's state is known.
func known(c *inspect.Case) time.Time { return c.Lock.AsOf(c.Backend, c.Now) }

// votesRead dates the votes. A source reads a key again if the masters do not agree.
func votesRead(c *inspect.Case) time.Time { return c.Lock.ReadAt }

// watchesRead dates the servers' watch tables.
func watchesRead(c *inspect.Case) time.Time {
	if c.Watches == nil {
		return known(c)
	}
	return c.Watches.ReadAt
}

// sessionsRead dates the servers' session tables. A Redis client is known only by its keys.
func sessionsRead(c *inspect.Case) time.Time {
	if c.SessionsAt.IsZero() {
		return known(c)
	}
	return c.SessionsAt
}
