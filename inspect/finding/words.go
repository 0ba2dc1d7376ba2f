package finding

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// evidence of a finding, by key.
type evidence = map[string]any

// listed limits the names in a finding; the rest are only counted.
const listed = 10

// stamp formats a time for evidence, in milliseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// utc formats a time for a message.
func utc(t, now time.Time) string { return describe.When(t, now.UTC()) + " UTC" }

func at(addr string) string { return inspect.Untrusted(addr).Cut(40) }

// doOthers ends a phrase such as "and so do 2 others".
func doOthers(n int) string {
	if n == 1 {
		return "does 1 other"
	}
	return fmt.Sprintf("do %d others", n)
}

// about returns the evidence for one contender: its name (contender) and its owner; session and
// client if known; since and held_since by the backend's clock if known.
func about(c *inspect.Contender) evidence {
	e := evidence{"contender": c.Name.String(), "owner": c.Who().String()}
	if c.Digest != "" {
		e["value_digest"] = c.Digest
	}
	if c.Owner.Session != 0 {
		e["session"] = inspect.SessionID(c.Owner.Session)
	}
	if c.Owner.Client != "" {
		e["client"] = inspect.Escape(c.Owner.Client)
	}
	if !c.Since.IsZero() {
		e["since"] = stamp(c.Since)
	}
	if !c.HeldSince.IsZero() {
		e["held_since"] = stamp(c.HeldSince)
	}
	return e
}

func do(steps ...inspect.Step) []inspect.Step { return steps }

func wait(why string) inspect.Step { return inspect.Step{Verb: inspect.VerbWait, Why: why} }

func restart(why string) inspect.Step { return inspect.Step{Verb: inspect.VerbRestart, Why: why} }

func configure(why string) inspect.Step { return inspect.Step{Verb: inspect.VerbConfigure, Why: why} }

// by adds the command for a step.
func by(s inspect.Step, command string) inspect.Step {
	s.Command = command
	return s
}

// act adds a lockscope command that acts on an owner; flags are its other arguments.
func act(c *inspect.Case, s inspect.Step, flags string) inspect.Step {
	words := "--owner " + describe.Quote(s.Owner.String()) + flags
	return by(s, describe.Lockscope(string(s.Verb), s.Lock, c.Reach[s.Lock.Backend].Target, words))
}

func release(c *inspect.Case, why string, id inspect.ID, owner inspect.Untrusted) inspect.Step {
	return act(c, inspect.Step{Verb: inspect.VerbRelease, Lock: id, Owner: owner, Why: why}, "")
}

// releaseWaiter returns the step that removes a contender that might not hold the case's lock.
func releaseWaiter(c *inspect.Case, why string, owner inspect.Untrusted) inspect.Step {
	s := inspect.Step{Verb: inspect.VerbRelease, Lock: c.Lock.ID, Owner: owner, Waiter: true, Why: why}
	return act(c, s, " --waiter")
}

func releaseOf(c *inspect.Case, why string, one *inspect.Contender) inspect.Step {
	if one.State != inspect.Holding {
		return releaseWaiter(c, why, one.Argument())
	}
	return release(c, why, c.Lock.ID, one.Argument())
}

// zkCLI builds a command for ZooKeeper's own client.
func zkCLI(c *inspect.Case, verb, path string) string {
	return describe.ZooKeeperCLI(c.Reach[c.Lock.ID.Backend].Client, verb, path)
}

// redisCLI builds a command for Redis' own client.
func redisCLI(c *inspect.Case, addr, command string) string {
	return describe.RedisCLI(addr, c.Reach[c.Lock.ID.Backend].Client, command)
}

func names(cs []inspect.Contender) []string {
	return each.Of(cs[:min(len(cs), listed)], func(c inspect.Contender) string { return c.Name.String() })
}

func escaped(texts []inspect.Untrusted) []string {
	return each.Of(texts[:min(len(texts), listed)], inspect.Untrusted.String)
}

func libraryOf(l *inspect.Lock, c *inspect.Contender) string {
	return cmp.Or(c.Recipe, l.Recipe)
}
