package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

const (
	// late is the longest delay of a report by an undisturbed observer.
	late = 3 * time.Second
	// sessionTimeout is the session timeout of all ZooKeeper clients.
	sessionTimeout = 8 * time.Second
	// longestSilence is how long a server may be silent before our client gives up on it.
	// Meanwhile, reports are late.
	longestSilence = 7 * time.Second
	// unconfirmed is the time before a failover in which confirmed writes may not have reached the
	// replica.
	unconfirmed = time.Second
	// away is the time after a failover during which clients may still talk to the old master.
	away = 2 * time.Second
)

// judge compares the observers' reports to the clients' records.
type judge struct {
	notes  *ledger
	faults *faults
	holds  map[[3]string]bool // reported as holding, by observer, lock and name
	counts map[string]int
	said   map[string]int // wrong reports by kind
}

func newJudge(notes *ledger, f *faults) *judge {
	return &judge{notes: notes, faults: f, holds: map[[3]string]bool{}, counts: map[string]int{}, said: map[string]int{}}
}

// backendOf returns BACKEND of BACKEND:PATH.
func backendOf(lock string) string {
	name, _, _ := strings.Cut(lock, ":")
	return name
}

// membersDiffer is the fault recorded when a ZooKeeper bug made an ensemble's members differ.
const membersDiffer = "members differ"

// apart reports whether the members of the ensemble had different nodes during a report, or during
// the hold, which may be nil. Until the sessions of affected clients end, one member may have
// confirmed writes that another never had.
func (f *faults) apart(backend string, from, to time.Time, h *hold) bool {
	_, found := f.find(func(one *fault) bool {
		if one.kind != membersDiffer || !slices.Contains(one.touches, backend) {
			return false
		}
		if h == nil {
			return one.overlaps(from, to, sessionTimeout+late)
		}
		over, ended := h.over()
		if !ended {
			over = to
		}
		return one.overlaps(from, to, sessionTimeout+late) || one.overlaps(h.asked, over, sessionTimeout+late)
	})
	return found
}

// hostStill is the fault recorded when this machine was paused, with all servers and clients. Then
// a client cannot know whether its session has survived.
const hostStill = "host paused"

// still reports whether the machine was paused in a span of time.
func (f *faults) still(from, to time.Time) bool {
	_, found := f.find(func(one *fault) bool { return one.kind == hostStill && one.overlaps(from, to, 0) })
	return found
}

// watchHost records pauses of the machine until ctx ends.
func (f *faults) watchHost(ctx context.Context) {
	for last := time.Now(); pause(ctx, 200*time.Millisecond); {
		now := time.Now()
		if now.Sub(last) > late {
			f.since(last, hostStill, zkName, redlockName, sentinelName, clusterName, observerName, watchName)()
		}
		last = now
	}
}

// event returns what is wrong with an event, or an empty string.
func (j *judge) event(e observed) string {
	what := j.wrong(e)
	if what == "" {
		return ""
	}
	var of *hold
	if h, known := j.notes.find(e.Lock, e.name()); known {
		of = &h
	}
	if j.faults.apart(backendOf(e.Lock), e.At, e.At, of) {
		j.counts["excused: "+membersDiffer]++
		return ""
	}
	if of != nil && j.faults.still(of.asked, e.At) {
		j.counts["excused: "+hostStill]++
		return ""
	}
	return what
}

func (j *judge) wrong(e observed) string {
	j.counts[e.Event]++
	if e.Event == "finding" {
		return j.finding(e)
	}
	if e.Event == "forced" {
		return "no release was forced"
	}
	if e.Contender == nil {
		return ""
	}
	key := [3]string{e.by, e.Lock, e.name()}
	switch e.Event {
	case "acquired", "handover":
		if j.holds[key] {
			return "reported as holding twice without an end"
		}
		j.holds[key] = true
	case "released", "lost", "expired", "ended":
		delete(j.holds, key)
	}
	h, known := j.notes.find(e.Lock, e.name())
	if !known {
		if j.notes.abandoned(e.Lock, e.name()) || j.notes.nameless(e.Lock, e.At, j.faults) {
			j.counts["of unknown clients"]++
			return ""
		}
		return "no client has this name"
	}
	if what := truth(e, h); what != "" {
		if f, excused := j.forgotten(e, h); excused {
			j.counts["excused: "+f.kind]++
			return ""
		}
		return what + ": " + describe(h)
	}
	return ""
}

// longestWait is a client's limit, after which it gives up.
const longestWait = 20 * time.Second

// isAdvisory reports whether the lock's queue is only a hint. A Redis mutex may go to any client.
func isAdvisory(lock string) bool { return backendOf(lock) != zkName }

// isGranted reports whether the releasing client writes the next holder into the key, before that
// client knows.
func isGranted(lock string) bool { return strings.HasSuffix(lock, ":lock:fair") }

// truth returns what is wrong with an event of a hold if the servers lost no writes.
func truth(e observed, h hold) string {
	over, ended := h.over()
	from, to := e.span()
	clean := !h.releasing.IsZero() && h.lost.IsZero()
	switch e.Event {
	case "waiting", "acquired", "handover":
		if ended && from.After(over.Add(late+sessionTimeout)) || clean && !h.released.IsZero() && from.After(h.released.Add(late)) {
			return "it had ended before"
		}
		if !h.asked.IsZero() && to.Before(h.asked.Add(-time.Second)) {
			return "it had not asked yet"
		}
	case "released":
		if !ended || e.At.Before(over.Add(-time.Second)) {
			return "it still holds"
		}
		if clean && !h.released.IsZero() && e.At.After(h.released.Add(late+longestSilence)) {
			return "it was released long before"
		}
		doubted := e.Certainty != "" && e.Certainty != "certain" && !isAdvisory(e.Lock) // a Redis release is never certain
		if h.releasing.IsZero() && !h.acquired.IsZero() && !doubted {
			return "it died without a release"
		}
	case "lost", "expired":
		if isGranted(e.Lock) && e.Event == "expired" && (h.acquired.IsZero() || e.At.Before(h.acquired)) {
			return "" // it was too slow to accept the grant
		}
		if !ended || e.At.Before(over.Add(-time.Second)) {
			return "it still holds"
		}
		if clean {
			return "it was released"
		}
	case "ended", "gone":
		if isGranted(e.Lock) && e.Event == "ended" && (h.acquired.IsZero() || e.At.Before(h.acquired)) {
			return ""
		}
		if e.Event == "gone" && isAdvisory(e.Lock) && (h.acquired.IsZero() || e.At.Before(h.acquired.Add(time.Second/2))) {
			return "" // a slow waiter loses its place and queues again
		}
		if !ended || to.Before(over.Add(-time.Second)) {
			return "it is still there"
		}
		if clean && !h.released.IsZero() && from.After(h.released.Add(late)) {
			return "it had ended earlier"
		}
	}
	return ""
}

func describe(h hold) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Format("15:04:05.000")
	}
	return fmt.Sprintf("%s asked %s acquired %s releasing %s released %s lost %s", h.client, at(h.asked), at(h.acquired), at(h.releasing), at(h.released), at(h.lost))
}

// forgetting maps each fault that loses confirmed writes to the time before and after it when
// writes may be lost. A failover loses writes that had not reached the replica, and those
// that the old master confirmed afterwards. A killed master may return with an old dump and become
// master again; remembered is the longest TTL in that dump: a queue's.
var forgetting = map[string]struct{ before, after, remembered time.Duration }{
	"restart master": {},
	"failover":       {before: unconfirmed, after: away},
	"kill master":    {before: unconfirmed, after: away, remembered: time.Minute},
}

// forgotten finds a fault that may have lost the writes of a hold, which was requested, held or
// released during it. The loss shows until the keys that no client renews or deletes expire.
func (j *judge) forgotten(e observed, h hold) (fault, bool) {
	over, ended := h.over()
	if !h.released.IsZero() {
		over = h.released
	}
	return j.faults.find(func(f *fault) bool {
		span, forgets := forgetting[f.kind]
		if !forgets || !slices.Contains(f.touches, backendOf(e.Lock)) {
			return false
		}
		from, to := f.from.Add(-span.before), f.to.Add(span.after)
		if f.to.IsZero() {
			return !ended || over.After(from.Add(-span.remembered))
		}
		lasts := ttlOf(e.Lock)
		if e.Event == "waiting" || e.Event == "gone" {
			lasts = queueLife
		}
		return h.asked.Before(to) && (!ended || over.After(from.Add(-span.remembered))) && e.At.After(from) && e.At.Before(to.Add(lasts+late))
	})
}

// queueLife is the TTL of a Redis mutex's queue without new waiters.
const queueLife = 10 * time.Second

// ttlOf is the TTL of a lock's key.
func ttlOf(lock string) time.Duration {
	if strings.HasSuffix(lock, ":lock:redis-py") {
		return pythonTTL
	}
	return ttl
}

// allowed lists the findings above info that each kind of fault may cause, and for how long after
// it. A dead client's session or an undeleted key must expire first.
var allowed = map[string]map[string]time.Duration{
	"restart master": {"master-restarted": ttl + holdsFor + late},
	"pause master":   {"minority-leftover": ttl + late},
	"kill clients":   {"ghost-owner": sessionTimeout + late},
	// The isolated member itself reports the lost quorum.
	"isolate zookeeper": {"no-quorum": late},
	// A holder that loses its lock in a failover no longer renews the key.
	"failover": {"renewal-stopped": ttl + late},
	// The observer notices the loss of one server after another.
	"blind observer": {"no-quorum": late},
	"cut observer":   {"no-quorum": late},
	// See poll.
	"three of five":   {"thin-margin": late},
	"split votes":     {"split-quorum": late},
	"votes left over": {"minority-leftover": late},
}

// finding returns what is wrong with a finding.
func (j *judge) finding(e observed) string {
	if e.Finding == nil || e.Finding.Severity == inspect.Info {
		return ""
	}
	on := backendOf(e.Lock)
	if e.Lock == "" && e.Backend != nil {
		on = e.Backend.Name
	}
	explained := func(touched string) bool { return isTrue(j.faults, j.notes, touched, e.Lock, e.Finding, e.At, e.At) }
	if explained(on) || explained(e.by) {
		j.counts["true: "+e.Finding.Rule]++
		return ""
	}
	return fmt.Sprintf("%s %s: %s (%v)", e.Finding.Severity, e.Finding.Rule, e.Finding.Message, e.Finding.Evidence)
}

// isTrue reports whether a fault that touches a backend or an observer explains a finding that was
// reported in that span.
func isTrue(f *faults, notes *ledger, touched, lock string, found *inspect.Finding, from, to time.Time) bool {
	if f.apart(touched, from, to, nil) || leftBehind(notes, lock, found) {
		return true
	}
	_, made := f.find(func(one *fault) bool {
		lasts, makes := allowed[one.kind][found.Rule]
		if !makes || !slices.Contains(one.touches, touched) || !one.overlaps(from, to, lasts) {
			return false
		}
		if found.Rule != "master-restarted" || found.Confidence == recipe.Possible {
			return true // a one-shot doctor cannot know when a lock was acquired, and says so
		}
		// A lock that was acquired after the restart is safe.
		return slices.ContainsFunc(notes.all(), func(h hold) bool {
			over, ended := h.over()
			return (lock == "" || h.lock == lock) && !h.acquired.IsZero() && (one.to.IsZero() || h.asked.Before(one.to)) && (!ended || over.Add(late).After(from))
		})
	})
	return made
}

// leftBehind reports whether a finding is about a node that its client does not know of. kazoo
// creates another node if the first answer is late, and leaves both (kazoo #732).
func leftBehind(notes *ledger, lock string, found *inspect.Finding) bool {
	name := found.Subject.Contender.Raw()
	if left, waits := found.Evidence["behind"].(string); waits {
		name = left // the client's other node, which waits behind it
	}
	_, known := notes.find(lock, name)
	about := slices.Contains([]string{"stuck-holder", "missing-watch", "self-wait"}, found.Rule) // no client acts for it
	return about && !known && notes.abandoned(lock, name)
}

// missed lists the holds that an observer never reported, although it was undisturbed for long
// enough while they lasted. Holds that the client lost do not count. The gaps that an observer
// reports count as faults, because a busy machine makes servers late.
func missed(notes *ledger, f *faults, reports []observed, by string, from, to time.Time) (all []string, looked int) {
	acquired := map[[2]string]bool{}
	f = f.withBlindness(reports, by)
	for _, e := range reports {
		if e.by == by && (e.Event == "acquired" || e.Event == "handover") {
			acquired[[2]string{e.Lock, e.name()}] = true
		}
	}
	for _, h := range notes.all() {
		over, ended := h.over()
		if h.acquired.IsZero() || h.acquired.Before(from) || !ended || over.After(to) || !h.lost.IsZero() || f.sight(h.acquired, over, backendOf(h.lock), by) < 2*time.Second {
			continue
		}
		if looked++; !acquired[[2]string{h.lock, h.name}] {
			all = append(all, h.lock+" "+h.name+": "+describe(h))
		}
	}
	return all, looked
}
