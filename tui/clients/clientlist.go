package clients

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/tui/screen"
)

// clientRow is a session or process, with everything it holds and waits for.
type clientRow struct {
	who  inspect.Identity
	Name string
	// labels are its owners' labels.
	labels []string
	// owner is merged from all its entries.
	owner    inspect.Owner
	backends []string
	session  inspect.Session
	known    bool // the servers reported the session
	// entries are its holds and waits, ordered by lock.
	entries      []inspect.Entry
	holds, waits int
	// blocks counts the contenders it blocks on all locks. through counts those on locks that
	// depend on its locks.
	blocks, through int
	// oldest is the start of its longest wait, by our clock; zero if it does not wait or the time
	// is unknown.
	oldest time.Time
	// expires is the first expiry of its keys, by our clock; zero if none expires.
	expires time.Time
	dead    bool // the client is most likely gone
	inCycle bool // it is in a wait-for cycle
	// idleAt is when we found that it no longer holds or waits for anything; zero if it does.
	idleAt time.Time
	text   string
}

// clientList lists the owners of all contenders of a snapshot.
type clientList struct {
	of   *inspect.Snapshot
	rows []*clientRow
	// nameless counts the contenders without a known client.
	nameless int
	graph    *waitGraph
}

// idle reports whether it no longer holds or waits for a lock.
func (r *clientRow) idle() bool { return !r.idleAt.IsZero() }

// idleCopy copies a client without its former holds and waits.
func (r *clientRow) idleCopy(now time.Time) *clientRow {
	return &clientRow{
		who: r.who, Name: r.Name, labels: r.labels, owner: r.owner, backends: r.backends, text: r.text,
		idleAt: cmp.Or(r.idleAt, now),
	}
}

// indexOf is an owner's index among rows; -1 if absent.
func indexOf(rows []*clientRow, who inspect.Identity) int {
	return slices.IndexFunc(rows, func(r *clientRow) bool { return r.who == who })
}

// ListClients lists the clients of a snapshot, which may take a while.
func ListClients(s *inspect.Snapshot) *clientList { return listClients(s, order{}) }

func listClients(s *inspect.Snapshot, o order) *clientList {
	list := &clientList{of: s, graph: buildWaitGraph(s)}
	circling := make(map[inspect.Identity]bool)
	for _, c := range s.Cycles() {
		for _, who := range c.Identities {
			circling[who] = true
		}
	}
	named := 0
	add := func(who inspect.Identity, entries []inspect.Entry) {
		named += len(entries)
		r := newClientRow(s, who, entries)
		r.inCycle = circling[who]
		for _, e := range entries {
			if len(e.Lock.Holders) > 0 && e.Contender == &e.Lock.Holders[0] {
				r.through += list.graph.below[e.Lock.ID]
			}
		}
		r.blocks += r.through
		r.text = r.words()
		if n, ok := s.HostName(&r.owner); ok {
			r.text += "\n" + strings.ToLower(n.String())
		}
		list.rows = append(list.rows, r)
	}
	for who, entries := range s.Owners() {
		add(who, entries)
	}
	for who, entries := range labelled(s) {
		add(who, entries)
	}
	for l := range s.Locks() {
		list.nameless += l.Contention()
	}
	list.nameless -= named
	list.sort(o)
	return list
}

// labelled returns the contenders known only by a label, such as most Redis holders.
func labelled(s *inspect.Snapshot) map[inspect.Identity][]inspect.Entry {
	all := make(map[inspect.Identity][]inspect.Entry)
	for l := range s.Locks() {
		for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
			for i := range list {
				c := &list[i]
				if _, known := c.Identity(l.ID.Backend); !known && c.Owner.Label != "" {
					who := inspect.Labelled(l.ID.Backend, c.Owner.Label)
					all[who] = append(all[who], inspect.Entry{Lock: l, Contender: c})
				}
			}
		}
	}
	return all
}

// sooner compares times; unknown ones come last.
func sooner(a, b time.Time) int { return cmp.Compare(screen.Instant(a), screen.Instant(b)) }

func newClientRow(s *inspect.Snapshot, who inspect.Identity, entries []inspect.Entry) *clientRow {
	r := &clientRow{who: who, entries: entries}
	r.session, r.known = s.Session(entries[0].Lock, entries[0].Contender)
	var last *inspect.Lock
	most := 0                // among its entries in one lock, since they block the same waiters
	var offset time.Duration // entries are in the order of their backends
	for i, e := range entries {
		if e.Lock != last {
			r.blocks, last, most = r.blocks+most, e.Lock, 0
		}
		most = max(most, int(e.Contender.BlockedBelow))
		if i == 0 || e.Lock.ID.Backend != entries[i-1].Lock.ID.Backend {
			offset = s.Backend(e.Lock.ID.Backend).ClockOffset()
			r.backends = append(r.backends, e.Lock.ID.Backend)
		}
		r.count(e, offset)
	}
	r.blocks += most
	r.labels = labelsOf(entries)
	r.Name = nameOf(r.labels, entries)
	return r
}

// count adds one of the entries; offset is the backend's clock minus ours.
func (r *clientRow) count(e inspect.Entry, offset time.Duration) {
	c := e.Contender
	if c.State == inspect.Holding {
		r.holds++
		if !c.ExpiresAt.IsZero() && (r.expires.IsZero() || c.ExpiresAt.Before(r.expires)) {
			r.expires = c.ExpiresAt
		}
	} else if !c.Dead {
		r.waits++
		if at := c.Since.Add(-offset); !c.Since.IsZero() && (r.oldest.IsZero() || at.Before(r.oldest)) {
			r.oldest = at
		}
	}
	r.dead = r.dead || c.Dead || isGhost(e)
	r.learn(&c.Owner)
}

// worst is the index of the hold that blocks the most contenders; 0 without any.
func (r *clientRow) worst() (at int) {
	most := int32(-1)
	for i, e := range r.entries {
		if c := e.Contender; c.State == inspect.Holding && c.BlockedBelow > most {
			at, most = i, c.BlockedBelow
		}
	}
	return at
}

// learn copies facts that are not yet known about its owner.
func (r *clientRow) learn(o *inspect.Owner) {
	fill(&r.owner.Label, o.Label)
	fill(&r.owner.Session, o.Session)
	fill(&r.owner.Client, o.Client)
	fill(&r.owner.Server, o.Server)
	fill(&r.owner.Host, o.Host)
	fill(&r.owner.PID, o.PID)
	fill(&r.owner.Thread, o.Thread)
	fill(&r.owner.LibraryID, o.LibraryID)
	fill(&r.owner.SessionTimeout, o.SessionTimeout)
}

// fill sets a value that is still zero.
func fill[T comparable](at *T, to T) {
	var zero T
	if *at == zero {
		*at = to
	}
}

// isGhost reports whether a rule found the entry's owner to be gone.
func isGhost(e inspect.Entry) bool {
	return slices.ContainsFunc(e.Lock.Findings, func(f inspect.Finding) bool {
		return f.Rule == "ghost-owner" && f.Subject.Is(e.Contender)
	})
}

// labelsOf are the names that a client gives itself, the oldest entry's first. One session may
// serve several owners.
func labelsOf(entries []inspect.Entry) []string {
	since := make(map[inspect.Untrusted]time.Time)
	for _, e := range entries {
		label, at := e.Contender.Owner.Label, e.Contender.Since
		if first, known := since[label]; label != "" && (!known || sooner(at, first) < 0) {
			since[label] = at
		}
	}
	labels := slices.SortedFunc(maps.Keys(since), func(a, b inspect.Untrusted) int {
		return cmp.Or(sooner(since[a], since[b]), cmp.Compare(a, b))
	})
	return each.Of(labels, inspect.Untrusted.String)
}

// named returns a name for a client with these labels.
func named(labels []string) string {
	if n := len(labels) - 1; n > 0 {
		return labels[0] + " and " + strconv.Itoa(n) + " more"
	}
	return labels[0]
}

// nameOf returns a client's name, preferably from its labels.
func nameOf(labels []string, entries []inspect.Entry) string {
	if len(labels) > 0 {
		return named(labels)
	}
	for _, e := range entries {
		if e.Contender.Owner.Client != "" || e.Contender.Owner.Host != "" {
			return describe.Owner(e.Contender)
		}
	}
	if id := entries[0].Contender.Owner.LibraryID; id != "" {
		return id.String()
	}
	return describe.Owner(entries[0].Contender)
}

// mostLabels limits the remembered labels.
const mostLabels = 20

// remember keeps the client's labels from the previous list, since its owners come and go.
func (r *clientRow) remember(before *clientRow) {
	if max(len(before.labels), len(r.labels)) > mostLabels {
		return
	}
	labels := slices.Clip(before.labels)
	for _, label := range r.labels {
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if slices.Equal(labels, r.labels) || len(labels) > mostLabels {
		return
	}
	r.labels, r.Name = labels, named(labels)
	r.text += "\n" + strings.ToLower(strings.Join(labels, "\n"))
}

// searched is the number of a client's locks whose names the filter searches.
const searched = 64

// words is the text that the filter searches.
func (r *clientRow) words() string {
	o := &r.owner
	parts := slices.Concat([]string{
		r.Name, describe.Printable(o.Client), describe.Printable(o.Server), o.Host.String(), o.PID.String(),
		o.Thread.String(), o.LibraryID.String(),
	}, r.labels, r.backends)
	if o.Session != 0 {
		parts = append(parts, inspect.SessionID(o.Session))
	}
	if r.dead {
		parts = append(parts, "dead")
	}
	if r.inCycle {
		parts = append(parts, "deadlock")
	}
	for _, e := range r.entries[:min(len(r.entries), searched)] {
		parts = append(parts, e.Lock.ID.String(), cmp.Or(e.Contender.Recipe, e.Lock.Recipe))
		if len(e.Lock.Masters) > 0 {
			parts = append(parts, e.Contender.Name.String())
		}
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

// before is a waiter's blocker: its predecessor if the recipe has one, else the first holder; nil
// if unknown.
func before(e inspect.Entry) *inspect.Contender {
	if c, ok := e.Lock.Contender(e.Contender.Watches); ok && e.Contender.Watches != "" {
		return &c
	}
	if len(e.Lock.Holders) > 0 {
		return &e.Lock.Holders[0]
	}
	return nil
}
