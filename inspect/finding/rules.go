package finding

import (
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// rule is all of one rule; its file has it. [Rules], [Passing] and docs/findings.md are made from these.
type rule struct {
	name string
	// severity of a finding that names none; sometimes is the other that it may name, for the reason that means gives.
	severity, sometimes inspect.Severity
	// What the rule means, the keys of its evidence (contender brings the keys of about with it), and what to do in short.
	means, evidence, do string
	// restsOn are the aspects without which the rule may be wrong about a lock.
	restsOn []inspect.Aspect
	// asOf dates what the rule rests on, by our clock. It is set where one look may see halfway what it finds: an acquisition
	// that asks one master after the other, a waiter between creating its node and watching another, a client that moves from
	// one server to the next, two locks that were read one after the other.
	asOf func(*inspect.Case) time.Time
	// quiet: registries, caches, counters and queues of jobs look like this as well, so that the rule is silent on what is
	// only possibly a lock.
	quiet bool
	// asFound: its findings hold whatever is not known of the lock.
	asFound bool
	// needsHistory: it says something only of what was watched for a while.
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

// all rules, the worst first. What a rule needs and does not know (a table that was not read, a history that is too short)
// makes it silent.
var all = []rule{
	deadlock(),
	splitQuorum(),
	mixedRecipes(),
	semaphoreOvercommit(),
	persistentContender(),
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

// Rules are all rules, the worst first.
func Rules() []inspect.Rule {
	rules := make([]inspect.Rule, len(all))
	for i, r := range all {
		rules[i] = r.rule()
	}
	return rules
}

// Passing reports whether what a rule finds is to be believed only when a second look, [inspect.SettleFor] later, finds the same.
func Passing(name string) bool {
	return slices.ContainsFunc(all, func(r rule) bool { return r.name == name && r.asOf != nil })
}

// rule has the rule's name put to its findings, its severity where they have none, and holds them to what is known.
func (r rule) rule() inspect.Rule {
	out := inspect.Rule{Name: r.name, NeedsHistory: r.needsHistory, AsOf: r.asOf}
	if r.lock != nil {
		out.Lock = func(c *inspect.Case) []inspect.Finding {
			if r.needsHistory && c.History == nil {
				return nil
			}
			return r.temper(c, r.sign(r.lock(c)))
		}
	}
	if r.backend != nil {
		out.Backend = func(b *inspect.Backend, now time.Time) []inspect.Finding { return r.sign(r.backend(b, now)) }
	}
	return out
}

func (r *rule) sign(fs []inspect.Finding) []inspect.Finding {
	for i := range fs {
		fs[i].Rule = r.name
		if fs[i].Severity == "" {
			fs[i].Severity = r.severity
		}
	}
	return fs
}

// blindAdvice replaces the advice of a finding that rests on what was not seen.
const blindAdvice = "do nothing yet: part of the evidence could not be read (see blind); look again once it can be"

// oldAdvice replaces that of a finding that rests on watches that were read a while ago.
const oldAdvice = "look at the lock (lockscope show, or its chain) before you act: who watches what was read a while ago, and may have changed since"

// possibleAdvice replaces the advice of a finding about what is only possibly a lock.
const possibleAdvice = "this may not be a lock: find out which program writes it before you act"

// suspectAdvice replaces the advice about any lock of servers that are most likely not the masters of one lock.
const suspectAdvice = "give each server as a target of its own first (see suspect-target): then look at this lock again"

// temper holds the findings of a rule to what is known of the lock. On what is only possibly a lock (a name, a value of no
// known shape) nothing is worse than worth knowing, and nothing is advised but to find out. Where something was not seen
// that the rule rests on, its findings are only possible, and no action is advised; the same where it was seen long ago.
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
			f.Advice = possibleAdvice
		}
	case c.Spread.Suspect():
		for i := range found {
			found[i].Advice = suspectAdvice
		}
	case slices.ContainsFunc(r.restsOn, l.Unknown):
		for i := range found {
			f := &found[i]
			f.Confidence = recipe.Possible
			f.Advice = blindAdvice
		}
	case onWatches && c.WatchesAre == inspect.TableOld:
		for i := range found {
			found[i].Confidence, found[i].Advice = recipe.Possible, oldAdvice
		}
	}
	return found
}

// again is the finding of a rule that the lock has already, where it says the same of the same contender; else nil. Many
// locks that stay as they are cost less when what follows from that is not put together again. One that was tempered has lost
// its own advice.
func again(c *inspect.Case, name, message string, confidence recipe.Confidence, about *inspect.Contender) []inspect.Finding {
	tempered := []string{blindAdvice, oldAdvice, possibleAdvice, suspectAdvice}
	for _, f := range c.Lock.Findings {
		if f.Rule == name && !slices.Contains(tempered, f.Advice) && f.Message == message && f.Confidence == confidence && f.Subject.Is(about) && tracesTo(f.Evidence, about) {
			return one(f)
		}
	}
	return nil
}

// tracesTo reports whether evidence has all that is known of who stands behind a contender, which the advice names, and since when.
func tracesTo(e evidence, c *inspect.Contender) bool {
	return hasText(e, "session", inspect.SessionID(c.Owner.Session)) && hasText(e, "client", inspect.Escape(c.Owner.Client)) &&
		hasTime(e, "since", c.Since) && hasTime(e, "held_since", c.HeldSince)
}

// hasTime reports whether evidence has an instant under a key; a zero one: that it has none.
func hasTime(e evidence, key string, want time.Time) bool {
	if want.IsZero() {
		return e[key] == nil
	}
	return hasText(e, key, stamp(want))
}

// hasText reports whether evidence has a text under a key; an empty one: that it has none.
func hasText(e evidence, key, want string) bool {
	text, _ := e[key].(string)
	return text == want
}

func one(f inspect.Finding) []inspect.Finding { return []inspect.Finding{f} }

// known is the instant up to which what is known of the lock holds.
func known(c *inspect.Case) time.Time { return c.Lock.AsOf(c.Backend, c.Now) }

// votesRead dates the votes. A source reads a key again on which the masters do not agree.
func votesRead(c *inspect.Case) time.Time { return c.Lock.ReadAt }

// watchesRead dates the servers' tables of watches.
func watchesRead(c *inspect.Case) time.Time {
	if c.Watches == nil {
		return known(c)
	}
	return c.Watches.ReadAt
}

// sessionsRead dates the servers' tables of sessions. Nothing but its keys reports a Redis client.
func sessionsRead(c *inspect.Case) time.Time {
	if c.SessionsAt.IsZero() {
		return known(c)
	}
	return c.SessionsAt
}
