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
	// late is the longest delay of a report by an observer that nothing holds up.
	late = 3 * time.Second
	// sessionTimeout of all ZooKeeper clients.
	sessionTimeout = 8 * time.Second
	// longestSilence of a server of which a client of ours that is still up may not know: it is reported that
	// it released late.
	longestSilence = 7 * time.Second
	// unconfirmed is the time before a failover in which writes that a master confirmed may not have reached
	// its replica.
	unconfirmed = time.Second
	// away is the time after a failover during which clients may still talk to the old master.
	away = 2 * time.Second
)

// judge compares what observers reported with what the clients noted.
type judge struct {
	notes  *ledger
	faults *faults
	holds  map[[3]string]bool // by observer, lock and name: reported to hold
	counts map[string]int
	said   map[string]int // wrong reports of each kind
}

func newJudge(notes *ledger, f *faults) *judge {
	return &judge{notes: notes, faults: f, holds: map[[3]string]bool{}, counts: map[string]int{}, said: map[string]int{}}
}

// backendOf splits BACKEND:PATH.
func backendOf(lock string) string {
	name, _, _ := strings.Cut(lock, ":")
	return name
}

// membersDiffer is the fault that members of an ensemble show different nodes on their own.
const membersDiffer = "members differ"

// apart finds a time in which members of the ensemble showed different nodes when something was reported, or
// while the client of a hold, which may be nil, had to do with it: what one member confirmed another never
// had. It is over when the sessions of clients that believe otherwise have ended.
func (f *faults) apart(backend string, from, to time.Time, h *hold) bool {
	_, found := f.find(func(one *fault) bool {
		if one.kind != membersDiffer || !slices.Contains(one.touches, backend) {
			return false
		}
		during := func(from, to time.Time) bool {
			return !to.Before(one.from) && (one.to.IsZero() || from.Before(one.to.Add(sessionTimeout+late)))
		}
		if during(from, to) {
			return true
		}
		if h == nil {
			return false
		}
		over, ended := h.over()
		if !ended {
			over = to
		}
		return during(h.asked, over)
	})
	return found
}

// hostStill is the fault that this machine was paused, and with it all servers and clients: what a client
// believes then, its session has outlived or not.
const hostStill = "host stood still"

// still reports whether the machine was paused in a span of time.
func (f *faults) still(from, to time.Time) bool {
	_, found := f.find(func(one *fault) bool {
		return one.kind == hostStill && one.from.Before(to) && one.to.After(from)
	})
	return found
}

// watchHost notes when the machine was paused, until ctx ends.
func (f *faults) watchHost(ctx context.Context) {
	for last := time.Now(); pause(ctx, 200*time.Millisecond); {
		now := time.Now()
		if now.Sub(last) > late {
			f.since(last, hostStill, zkName, redlockName, sentinelName, clusterName, observerName, watchName)()
		}
		last = now
	}
}

// event returns what is wrong with one event; empty: nothing.
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
		return "nobody forced anything"
	}
	if e.Contender == nil {
		return ""
	}
	key := [3]string{e.by, e.Lock, e.name()}
	switch e.Event {
	case "acquired", "handover":
		if j.holds[key] {
			return "reported to hold twice, and no end between"
		}
		j.holds[key] = true
	case "released", "lost", "expired", "ended":
		delete(j.holds, key)
	}
	h, known := j.notes.find(e.Lock, e.name())
	if !known {
		if j.notes.abandoned(e.Lock, e.name()) || j.notes.nameless(e.Lock, e.At, j.faults) {
			j.counts["of nobody known"]++
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

// isAdvisory reports whether waiting for a lock is no more than a hint on the server: a Redis mutex goes to
// whoever is there.
func isAdvisory(lock string) bool { return backendOf(lock) != zkName }

// isGranted reports whether a lock is granted by the client that released it: its key is the next client's for a
// moment, before that knows.
func isGranted(lock string) bool { return strings.HasSuffix(lock, ":lock:fair") }

// truth returns what is wrong with an event of a hold, if the servers kept what was written to them.
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
		doubted := e.Certainty != "" && e.Certainty != "certain" && !isAdvisory(e.Lock) // on Redis it always is, and nobody here renames
		if h.releasing.IsZero() && !h.acquired.IsZero() && !doubted {
			return "it died and released nothing"
		}
	case "lost", "expired":
		if isGranted(e.Lock) && e.Event == "expired" && (h.acquired.IsZero() || e.At.Before(h.acquired)) {
			return "" // it was too slow to take what it was granted
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
			return "" // who is slow to come when it is woken loses its place, and is there again
		}
		if !ended || to.Before(over.Add(-time.Second)) {
			return "it is still there"
		}
		if clean && !h.released.IsZero() && from.After(h.released.Add(late)) {
			return "it had ended before that"
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

// forgetting are the faults by which servers forget what they confirmed, and for how long before and after
// them: a failover loses what had not reached the replica, and what the old master still confirmed. The rest
// of a Redlock's masters is not asked by a hold that has its quorum. A master that was killed comes back with
// its last dump, made when its replica last asked for all, and the sentinels may name it again: remembered is
// the longest life of a key in it, a queue's.
var forgetting = map[string]struct{ before, after, remembered time.Duration }{
	"restart master": {},
	"failover":       {before: unconfirmed, after: away},
	"kill master":    {before: unconfirmed, after: away, remembered: time.Minute},
}

// forgotten finds a fault by which the servers need not have what the client of a hold was promised: it was asked for,
// held or released meanwhile. It shows for as long as a key lives that no client renews or deletes.
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

// queueLife is the time to live of a Redis mutex's queue without new waiters.
const queueLife = 10 * time.Second

// ttlOf is the time to live of a lock's key.
func ttlOf(lock string) time.Duration {
	if strings.HasSuffix(lock, ":lock:redis-py") {
		return pythonTTL
	}
	return ttl
}

// allowed are the rules above info that faults make true, by the kind of the fault, and for how long after
// it: until the session of a client that died has run out, or the key that no client could delete.
var allowed = map[string]map[string]time.Duration{
	"restart master": {"master-restarted": ttl + holdsFor + late},
	"pause master":   {"minority-leftover": ttl + late},
	"kill clients":   {"ghost-owner": sessionTimeout + late},
	// It says itself that it has no quorum, if it is asked meanwhile.
	"isolate zookeeper": {"no-quorum": late},
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
	if isTrue(j.faults, j.notes, on, e.Lock, e.Finding, e.At, e.At) {
		j.counts["true: "+e.Finding.Rule]++
		return ""
	}
	return fmt.Sprintf("%s %s: %s (%v)", e.Finding.Severity, e.Finding.Rule, e.Finding.Message, e.Finding.Evidence)
}

// isTrue reports whether a fault makes a finding true that was reported in a time.
func isTrue(f *faults, notes *ledger, backend, lock string, found *inspect.Finding, from, to time.Time) bool {
	if f.apart(backend, from, to, nil) || leftBehind(notes, lock, found) {
		return true
	}
	_, made := f.find(func(one *fault) bool {
		lasts, makes := allowed[one.kind][found.Rule]
		if !makes || !slices.Contains(one.touches, backend) || one.from.After(to) || !one.to.IsZero() && one.to.Add(lasts).Before(from) {
			return false
		}
		if found.Rule != "master-restarted" || found.Confidence == recipe.Possible {
			return true // one look cannot know when a lock was taken, and reports that
		}
		// Who took a lock after a master came back has nothing to fear from its restart.
		return slices.ContainsFunc(notes.all(), func(h hold) bool {
			over, ended := h.over()
			return (lock == "" || h.lock == lock) && !h.acquired.IsZero() && (one.to.IsZero() || h.asked.Before(one.to)) && (!ended || over.Add(late).After(from))
		})
	})
	return made
}

// leftBehind reports whether what is found stuck, or without a watch, is a node of which its client knows
// nothing: kazoo makes another when the answer to the first does not come in time, and leaves both (kazoo
// #732).
func leftBehind(notes *ledger, lock string, found *inspect.Finding) bool {
	name := found.Subject.Contender.Raw()
	if left, waits := found.Evidence["behind"].(string); waits {
		name = left // its client's own, which waits behind it
	}
	_, known := notes.find(lock, name)
	about := slices.Contains([]string{"stuck-holder", "missing-watch", "self-wait"}, found.Rule) // no client acts for it
	return about && !known && notes.abandoned(lock, name)
}

// missed lists the holds that an observer never reported although it could look for long enough while they
// lasted. One that its client lost need not have been on a server that counts. The times in which an observer
// says that it could not look count as faults: a machine that is busy enough makes servers late.
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
