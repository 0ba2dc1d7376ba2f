package finding

import (
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// evidence of a finding, by name.
type evidence = map[string]any

// listed limits the names in a finding; it counts the rest.
const listed = 10

// stamp is an instant as evidence has it, to the millisecond.
func stamp(t time.Time) string { return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano) }

// utc is an instant as a message has it.
func utc(t, now time.Time) string { return describe.When(t, now.UTC()) + " UTC" }

// at is a server's address in a few cells.
func at(addr string) string { return inspect.Untrusted(addr).Cut(40) }

// about is evidence of one contender: contender is its name, owner who stands behind it, session and client where known;
// since and held_since by the backend's clock where known.
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

// release is the command that frees a lock of one contender.
func release(c *inspect.Case, id inspect.ID, name inspect.Untrusted, digest string) string {
	return describe.Release(id, c.Reach[id.Backend].Target, name, digest, false)
}

// releaseOf is the same for a contender of the case's lock. One that waits needs more than its name.
func releaseOf(c *inspect.Case, one *inspect.Contender) string {
	id := c.Lock.ID
	return describe.Release(id, c.Reach[id.Backend].Target, one.Name, one.Digest, one.State != inspect.Holding)
}

// zkCLI is a command of ZooKeeper's own client.
func zkCLI(c *inspect.Case, verb, path string) string {
	return describe.ZooKeeperCLI(c.Reach[c.Lock.ID.Backend].Client, verb, path)
}

// redisCLI is a command of Redis' own client to a master.
func redisCLI(c *inspect.Case, addr, command string) string {
	return describe.RedisCLI(addr, c.Reach[c.Lock.ID.Backend].Client, command)
}

// names lists the first contenders' names.
func names(cs []inspect.Contender) []string {
	list := make([]string, 0, min(len(cs), listed))
	for i := range cs[:min(len(cs), listed)] {
		list = append(list, cs[i].Name.String())
	}
	return list
}

// escaped lists the first texts.
func escaped(texts []inspect.Untrusted) []string {
	list := make([]string, 0, min(len(texts), listed))
	for _, t := range texts[:min(len(texts), listed)] {
		list = append(list, t.String())
	}
	return list
}

// libraryOf is the library that wrote a contender.
func libraryOf(l *inspect.Lock, c *inspect.Contender) string {
	if c.Recipe != "" {
		return c.Recipe
	}
	return l.Recipe
}
