package inspect

import (
	"iter"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// Tie is a reason to treat a ZooKeeper session and a Redis client as one program. It is at most
// likely, since no server confirms it.
type Tie struct {
	// Owner is the owner's number in the cycle.
	Owner int
	// Session on its backend. Client is the Redis client's own name, as in its entries.
	Session int64
	Backend string
	Client  Untrusted
	// By is what they have in common ("process web-1:4711", "name worker-a", "host 10.0.0.7"),
	// escaped.
	By string
	// Certainty is likely for a process, a unique id, or a name on one host; possible for a name
	// alone or a host alone.
	Certainty recipe.Confidence
}

// party is a session, or a process on Redis, with what its entries say about it.
type party struct {
	backend              string
	session              int64
	client               Untrusted
	names, processes     []string
	addresses, hostnames []string
	unclear              bool // two have this name
	seenIn               *Lock
}

// ties maps each identity on Redis to its session.
type ties map[Identity]tied

type tied struct {
	session Identity
	tie     Tie
}

// partyOf is the identity of a contender or, on Redis, its label if it has none, as with
// lockscope's own waiters.
func partyOf(l *Lock, c *Contender) (Identity, bool) {
	if who, ok := c.Identity(l.ID.Backend); ok {
		return who, true
	}
	return Identity{backend: l.ID.Backend, thread: c.Owner.Label}, len(l.Masters) > 0 && c.Owner.Label != ""
}

func (i Identity) process() Identity {
	if i.backend == "" {
		i.thread = ""
	}
	return i
}

// findTies ties the sessions and the Redis clients in these locks. Ambiguous ones are not tied: a
// name, process or host must have exactly one session and one client.
func findTies(locks iter.Seq[*Lock]) ties {
	sessions, clients := make(map[Identity]*party), make(map[Identity]*party)
	threads := make(map[Identity]Identity) // each identity on Redis, to its process
	for l := range locks {
		onRedis := len(l.Masters) > 0
		for c := range l.Contenders {
			who, ok := partyOf(l, c)
			switch {
			case !ok:
			case !onRedis && c.Owner.Session != 0:
				add(sessions, who, l, c)
			case onRedis:
				threads[who] = who.process()
				add(clients, who.process(), l, c)
			}
		}
	}
	if len(sessions) == 0 || len(clients) == 0 {
		return nil
	}
	byProcess := matches(sessions, clients)
	found := make(ties)
	for who, process := range threads {
		if t, ok := byProcess[process]; ok {
			found[who] = t
		}
	}
	return found
}

func add(to map[Identity]*party, who Identity, l *Lock, c *Contender) {
	p := to[who]
	if p == nil {
		p = &party{backend: l.ID.Backend, session: c.Owner.Session, client: c.Who()}
		to[who] = p
	}
	if who.backend != "" && who.session == 0 { // a label: a program is in a queue only once
		p.unclear = p.unclear || p.seenIn == l
		p.seenIn = l
	}
	p.learn(&c.Owner)
}

// learn adds what an entry says about its owner.
func (p *party) learn(o *Owner) {
	addOnce := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	host, _, err := net.SplitHostPort(o.Client)
	if err != nil {
		host = o.Client
	}
	for _, h := range []string{host, o.Host.Raw()} {
		at, err := netip.ParseAddr(h)
		switch {
		case err == nil && !at.IsLoopback(): // loopback addresses on two servers need not be one host
			addOnce(&p.addresses, at.Unmap().String())
		case err != nil && h != "localhost":
			addOnce(&p.hostnames, h)
		}
	}
	if o.Host != "" && o.PID != "" {
		addOnce(&p.processes, o.Host.Raw()+":"+o.PID.Raw())
	}
	for _, name := range []string{o.Label.Raw(), o.LibraryID.Raw()} {
		addOnce(&p.names, name)
		addOnce(&p.processes, processOf(name))
	}
}

var (
	hostPID = regexp.MustCompile(`^([^:@\s]+):(\d{1,10})$`)
	pidHost = regexp.MustCompile(`^(\d{1,10})@([^:@\s]+)$`) // as Java's RuntimeMXBean names its process
	isUUID  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$`)
)

// processOf parses the two usual forms of a process name and returns HOST:PID; empty for any other
// name.
func processOf(name string) string {
	if m := pidHost.FindStringSubmatch(name); m != nil {
		return m[2] + ":" + m[1]
	}
	if hostPID.MatchString(name) {
		return name
	}
	return ""
}

// matches returns the best matching session of each client, if there is exactly one.
func matches(sessions, clients map[Identity]*party) map[Identity]tied {
	type key struct {
		rank int
		text string
	}
	keysOf := func(p *party) (keys []key) {
		for rank, list := range [][]string{p.processes, p.names, p.addresses, p.hostnames} {
			for _, text := range list {
				keys = append(keys, key{min(rank, 2), text})
			}
		}
		return keys
	}
	index := make(map[key][]Identity)
	claimed := make(map[key]int) // how many clients have a key
	for who, p := range sessions {
		for _, k := range keysOf(p) {
			index[k] = append(index[k], who)
		}
	}
	for _, p := range clients {
		for _, k := range keysOf(p) {
			claimed[k]++
		}
	}
	found := make(map[Identity]tied)
	for who, p := range clients {
		for _, k := range keysOf(p) {
			if len(index[k]) == 0 {
				continue
			}
			if len(index[k]) == 1 && claimed[k] == 1 && !p.unclear {
				session := index[k][0]
				if t, ok := sessions[session].tiedTo(p, k.rank, k.text); ok {
					found[who] = tied{session, t}
				}
			}
			break // the most specific name decides, even if a later one would match
		}
	}
	return found
}

// tiedTo grades what a session and a client have in common; false if something else tells them
// apart.
func (p *party) tiedTo(client *party, rank int, text string) (Tie, bool) {
	t := Tie{Session: p.session, Backend: p.backend, Client: client.client, Certainty: recipe.Likely}
	apart := func(a, b []string) bool {
		return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
	}
	if apart(p.addresses, client.addresses) || apart(p.processes, client.processes) {
		return t, false
	}
	oneHost := slices.ContainsFunc(p.addresses, func(s string) bool { return slices.Contains(client.addresses, s) }) ||
		slices.ContainsFunc(p.hostnames, func(s string) bool { return slices.Contains(client.hostnames, s) })
	switch rank {
	case 0:
		t.By = "process " + Escape(text)
	case 1:
		t.By = "name " + Escape(text)
		if !oneHost && !isUUID.MatchString(text) {
			t.Certainty = recipe.Possible
		}
	default:
		if apart(p.names, client.names) {
			return t, false
		}
		t.By, t.Certainty = "host "+Escape(text), recipe.Possible
	}
	return t, true
}

// tiesUsed are the ties that close the cycle: those of owners that wait under one identity and
// hold under another.
func (c *Cycle) tiesUsed(lock func(ID) *Lock, all ties) []Tie {
	var used []Tie
	for i := range c.Owners {
		in, out := lock(c.Locks[c.Before(i)]), lock(c.Locks[i])
		if in == nil || out == nil {
			continue
		}
		has, wants := c.Has(in, i), c.Wants(out, i)
		if has == nil || wants == nil {
			continue
		}
		a, aKnown := partyOf(in, has)
		b, bKnown := partyOf(out, wants)
		if !aKnown || !bKnown || a == b {
			continue
		}
		for _, who := range []Identity{a, b} {
			if t, ok := all[who]; ok &&
				!slices.ContainsFunc(used, func(o Tie) bool { return o.Owner == i && o.Client == t.tie.Client }) {
				t.tie.Owner = i
				used = append(used, t.tie)
			}
		}
	}
	return used
}

// Certainty is Possible if a tie is, if an owner may be several threads, or after a single look;
// else Likely.
func (c *Cycle) Certainty() recipe.Confidence {
	if c.Shared || c.OneLook ||
		slices.ContainsFunc(c.Ties, func(t Tie) bool { return t.Certainty == recipe.Possible }) {
		return recipe.Possible
	}
	return recipe.Likely
}

// TiedBy describes a cycle's ties: "process web-1:4711 (likely), host 10.0.0.7 (possible)"; empty
// for none.
func (c *Cycle) TiedBy() string {
	parts := each.Of(c.Ties, func(t Tie) string { return t.By + " (" + string(t.Certainty) + ")" })
	return strings.Join(slices.Compact(parts), ", ")
}
