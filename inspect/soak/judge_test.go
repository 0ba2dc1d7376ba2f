package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
)

const (
	// late is how much later than it happened something may be told by an observer that nothing holds up.
	late = 3 * time.Second
	// sessionTimeout of all ZooKeeper clients.
	sessionTimeout = 8 * time.Second
	// after is how long what a fault did may still show: a session's time or a key's, and the time to notice.
	after = 15 * time.Second
)

// judge compares what observers told with what the clients noted.
type judge struct {
	notes  *ledger
	faults *faults
	holds  map[[3]string]bool // by teller, lock and name: told that it holds
	counts map[string]int
	said   map[string]int // how often something wrong was told, by what it is
}

func newJudge(notes *ledger, f *faults) *judge {
	return &judge{notes: notes, faults: f, holds: map[[3]string]bool{}, counts: map[string]int{}, said: map[string]int{}}
}

// backendOf is that of a lock given as BACKEND:PATH.
func backendOf(lock string) string {
	name, _, _ := strings.Cut(lock, ":")
	return name
}

// event says what is wrong with one event; empty: nothing.
func (j *judge) event(e told) string {
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
			return "told to hold twice, and no end between"
		}
		j.holds[key] = true
	case "released", "lost", "expired", "ended":
		delete(j.holds, key)
	}
	h, known := j.notes.find(e.Lock, e.name())
	if !known {
		if j.nameless(e) {
			j.counts["of nobody known"]++
			return ""
		}
		return "no client has this name"
	}
	if what := truth(e, h); what != "" {
		if f, excused := j.endangered(e); excused {
			j.counts["excused: "+f.kind]++
			return ""
		}
		return what + ": " + describe(h)
	}
	return ""
}

// longestWait is how long a client waits for a lock before it gives up.
const longestWait = 20 * time.Second

// nameless says that somebody may have had the name of an event and noted nothing: who gave up, and who was killed.
func (j *judge) nameless(e told) bool {
	if j.notes.nameless(e.Lock, e.At) {
		return true
	}
	_, killed := j.faults.during(e.At, e.At.Add(longestWait), after, e.Lock)
	return killed
}

// truth says what is wrong with an event of a hold, if the servers kept what they were told.
func truth(e told, h hold) string {
	over, ended := h.over()
	clean := !h.releasing.IsZero() && h.lost.IsZero()
	switch e.Event {
	case "waiting", "acquired", "handover":
		if ended && e.At.After(over.Add(late+sessionTimeout)) || clean && !h.released.IsZero() && e.At.After(h.released.Add(late)) {
			return "it had ended before"
		}
		if !h.asked.IsZero() && e.At.Before(h.asked.Add(-time.Second)) {
			return "it had not asked yet"
		}
	case "released":
		if !ended || e.At.Before(over.Add(-time.Second)) {
			return "it still holds"
		}
		if h.releasing.IsZero() && !h.acquired.IsZero() && (e.Certainty == "" || e.Certainty == "certain") {
			return "it died and released nothing"
		}
	case "lost", "expired":
		if !ended || e.At.Before(over.Add(-time.Second)) {
			return "it still holds"
		}
		if clean {
			return "it was released"
		}
	case "ended", "gone":
		if !ended || e.At.Before(over.Add(-time.Second)) {
			return "it is still there"
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

// endangering are the faults by which servers forget what they were told.
var endangering = []string{"restart master", "failover", "kill master"}

// endangered finds a fault by which what the clients know need not be what the servers have.
func (j *judge) endangered(e told) (fault, bool) {
	f, found := j.faults.during(e.At.Add(-late), e.At, after, backendOf(e.Lock))
	return f, found && slices.Contains(endangering, f.kind)
}

// allowed are the rules above info that faults make true, by the kind of the fault.
var allowed = map[string][]string{
	"restart master": {"master-restarted"},
	"pause master":   {"minority-leftover"},
	"failover":       {"replica-failover", "master-restarted"},
	"kill master":    {"replica-failover", "master-restarted"},
	"kill clients":   {"ghost-owner"},
}

// finding says what is wrong with a finding.
func (j *judge) finding(e told) string {
	if e.Finding == nil || e.Finding.Severity == inspect.Info {
		return ""
	}
	on := backendOf(e.Lock)
	if e.Lock == "" && e.Backend != nil {
		on = e.Backend.Name
	}
	if isTrue(j.faults, j.notes, on, e.Lock, e.Finding.Rule, e.At, e.At) {
		j.counts["true: "+e.Finding.Rule]++
		return ""
	}
	return fmt.Sprintf("%s %s: %s (%v)", e.Finding.Severity, e.Finding.Rule, e.Finding.Message, e.Finding.Evidence)
}

// isTrue says that a fault makes a finding true that was told in a time.
func isTrue(f *faults, notes *ledger, backend, lock, rule string, from, to time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.list, func(one *fault) bool {
		if !slices.Contains(one.touches, backend) || !slices.Contains(allowed[one.kind], rule) || one.from.After(to) ||
			!one.to.IsZero() && one.to.Add(after).Before(from) {
			return false
		}
		// Who took a lock after a master came back has nothing to fear from its restart.
		return rule != "master-restarted" || slices.ContainsFunc(notes.all(), func(h hold) bool {
			over, ended := h.over()
			return (lock == "" || h.lock == lock) && !h.acquired.IsZero() && (one.to.IsZero() || h.asked.Before(one.to)) && (!ended || over.Add(late).After(from))
		})
	})
}

// missed counts the holds that lasted long enough to be seen, while nothing held an observer up, and that it never told.
func missed(notes *ledger, f *faults, tells []told, by string, from, to time.Time) []string {
	acquired := map[[2]string]bool{}
	for _, e := range tells {
		if e.by == by && (e.Event == "acquired" || e.Event == "handover") {
			acquired[[2]string{e.Lock, e.name()}] = true
		}
	}
	var all []string
	for _, h := range notes.all() {
		over, ended := h.over()
		if h.acquired.IsZero() || h.acquired.Before(from) || !ended || over.After(to) || over.Sub(h.acquired) < 2*time.Second {
			continue
		}
		if _, disturbed := f.during(h.acquired.Add(-late), over.Add(late), after); disturbed || acquired[[2]string{h.lock, h.name}] {
			continue
		}
		all = append(all, h.lock+" "+h.name+": "+describe(h))
	}
	return all
}
