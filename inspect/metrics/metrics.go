// Package metrics turns the snapshots of an Observer into Prometheus metrics. Unknown values have
// no sample. For a backend that is down, the numbers of locks, holds and queues are absent, not
// zero.
package metrics

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/inspect"
)

// Collector counts what snapshots report. Give each snapshot of one subscription to Observe.
type Collector struct {
	now  func() time.Time
	each int

	mu      sync.Mutex
	latest  *inspect.Snapshot
	grants  map[string]float64
	ends    map[[2]string]float64
	dropped float64
	reached map[string]bool // backends that were read once, even if they are down now
}

// New makes a Collector. At most eachLock locks, the worst first, get their own series; 0 means
// none.
func New(now func() time.Time, eachLock int) *Collector {
	return &Collector{
		now: now, each: eachLock, grants: make(map[string]float64), ends: make(map[[2]string]float64),
		reached: make(map[string]bool),
	}
}

// Observe stores the newest snapshot, and counts its events.
func (c *Collector) Observe(s *inspect.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = s
	c.dropped += float64(s.Dropped)
	for _, b := range s.Backends {
		if b.FirstPass && b.State != inspect.Down {
			c.reached[b.Name] = true
		}
	}
	for i := range s.Events {
		e := &s.Events[i]
		switch e.Kind {
		case inspect.EventAcquired, inspect.EventHandover:
			c.grants[e.Lock.Backend]++
		case inspect.EventReleased, inspect.EventExpired, inspect.EventForced, inspect.EventEnded:
			c.ends[[2]string{e.Lock.Backend, string(e.Kind)}]++
		}
	}
}

// Ready reports whether this many backends were each read completely once, or are known to be
// down. Backends that were never reached are in no snapshot.
func (c *Collector) Ready(backends int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest != nil && len(c.latest.Backends) >= backends &&
		!slices.ContainsFunc(c.latest.Backends, func(b *inspect.Backend) bool {
			return !b.FirstPass && b.State != inspect.Down
		})
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		to <- d.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	s, dropped := c.latest, c.dropped
	grants, ends, reached := maps.Clone(c.grants), maps.Clone(c.ends), maps.Clone(c.reached)
	c.mu.Unlock()
	if s == nil {
		return
	}
	out := samples{to}
	out.count(eventsDropped, dropped)
	for _, b := range s.Backends {
		out.backend(b)
		if reached[b.Name] { // before that, no event is reported
			out.count(grantsTotal, grants[b.Name], b.Name)
		}
	}
	for key, n := range ends {
		out.count(endsTotal, n, key[0], key[1])
	}
	out.locks(s, c.now(), c.each)
}

// samples receives the metrics of one scrape.
type samples struct{ to chan<- prometheus.Metric }

func (o samples) gauge(d description, v float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, v, labels...)
}

func (o samples) count(d description, v float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d.desc, prometheus.CounterValue, v, labels...)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (o samples) backend(b *inspect.Backend) {
	for _, s := range []inspect.BackendState{inspect.Connected, inspect.Degraded, inspect.Down} {
		o.gauge(backendState, truth(b.State == s), b.Name, string(b.Kind), string(s))
	}
	o.gauge(backendReady, truth(b.FirstPass && b.State != inspect.Down), b.Name)
	o.count(requestsTotal, float64(b.Cost.Requests), b.Name)
	o.count(heartbeatsTotal, float64(b.Cost.Heartbeats), b.Name)
	o.count(bytesTotal, float64(b.Cost.Bytes), b.Name)
	o.gauge(watchesSet, float64(b.Cost.Watches), b.Name)
	o.gauge(slowed, truth(b.Cost.Slowed), b.Name)
	o.count(outagesTotal, float64(b.Lost), b.Name)
	refused := make(map[string]int)
	for _, u := range b.Unseen {
		refused[string(u.Aspect)]++
	}
	for aspect, n := range refused {
		o.gauge(unseen, float64(n), b.Name, aspect)
	}
	if b.State == inspect.Down { // nothing is known of its locks
		own := &tally{findings: map[[3]string]int{}}
		own.addFindings(b.Findings)
		o.findings(b.Name, own)
	}
	seen := make(map[string]bool)
	for i := range b.Servers {
		s := &b.Servers[i]
		if seen[s.Addr] {
			continue
		}
		seen[s.Addr] = true
		if s.State != inspect.ServerUnknown && s.Fault != inspect.FaultOurs {
			o.gauge(serverUp, truth(s.State == inspect.ServerUp), b.Name, s.Addr)
		}
		if s.State == inspect.ServerUp && s.Latency >= 0 {
			o.gauge(serverLatency, s.Latency.Seconds(), b.Name, s.Addr)
		}
		if s.ClockKnown {
			o.gauge(clockOffset, s.ClockOffset.Seconds(), b.Name, s.Addr)
		}
	}
}

// queueBuckets are the upper bounds of queue lengths.
var queueBuckets = []float64{0, 1, 2, 5, 10, 20, 50, 100, 1000}

// tally of the locks of one backend.
type tally struct {
	states       map[[2]string]int
	findings     map[[3]string]int
	unknown      map[string]int
	buckets      map[float64]uint64
	queues       uint64
	waiters      float64
	oldest, wait time.Duration
	held, waited bool // whether oldest and wait are known
	undated      int
}

func (o samples) locks(s *inspect.Snapshot, now time.Time, each int) {
	tallies := make(map[string]*tally)
	for _, b := range s.Backends {
		t := &tally{
			states: map[[2]string]int{}, findings: map[[3]string]int{}, unknown: map[string]int{},
			buckets: map[float64]uint64{},
		}
		for _, le := range queueBuckets {
			t.buckets[le] = 0
		}
		t.addFindings(b.Findings)
		tallies[b.Name] = t
	}
	var worst []*inspect.Lock
	for l := range s.Locks() {
		t := tallies[l.ID.Backend]
		if t == nil {
			continue
		}
		t.add(s, l, now)
		if severity(l) >= inspect.Warning.Rank() {
			worst = append(worst, l)
		}
	}
	for _, b := range s.Backends {
		if b.State != inspect.Down && b.FirstPass {
			o.tally(b.Name, tallies[b.Name])
		}
	}
	worst = slices.DeleteFunc(worst,
		func(l *inspect.Lock) bool { return s.Backend(l.ID.Backend).State == inspect.Down })
	slices.SortFunc(worst, func(a, b *inspect.Lock) int {
		return cmp.Or(cmp.Compare(severity(b), severity(a)), cmp.Compare(b.Waiting(), a.Waiting()),
			cmp.Compare(a.ID.String(), b.ID.String()))
	})
	o.gauge(seriesOmitted, float64(max(0, len(worst)-each)))
	for _, l := range worst[:min(len(worst), each)] {
		o.lock(s, l, now)
	}
}

// severity is the rank of a lock's worst unmuted finding; -1 without any.
func severity(l *inspect.Lock) int {
	worst := -1
	for i := range l.Findings {
		if l.Findings[i].Muted == nil {
			worst = max(worst, l.Findings[i].Severity.Rank())
		}
	}
	return worst
}

func (t *tally) addFindings(list []inspect.Finding) {
	for i := range list {
		t.findings[[3]string{list[i].Rule, string(list[i].Severity), strconv.FormatBool(list[i].Muted != nil)}]++
	}
}

func (t *tally) add(s *inspect.Snapshot, l *inspect.Lock, now time.Time) {
	t.states[[2]string{string(l.Kind), string(l.State)}]++
	t.addFindings(l.Findings)
	aspects := make(map[string]bool)
	for _, u := range l.Unseen {
		aspects[string(u.Aspect)] = true
	}
	if l.State == inspect.StateUnknown { // also if too few masters answered
		aspects[string(inspect.AspectHolders)] = true
	}
	for aspect := range aspects {
		t.unknown[aspect]++
	}
	oldest, dated := longestHeld(s, l, now)
	t.oldest, t.held = max(t.oldest, oldest), t.held || dated > 0
	t.undated += len(l.Holders) - dated
	for i := range l.Waiters {
		if age, ok := s.Age(l, &l.Waiters[i], l.Waiters[i].Since, now); ok && age.Known && !l.Waiters[i].Dead {
			t.wait, t.waited = max(t.wait, age.Duration), true
		}
	}
	if l.Unknown(inspect.AspectWaiters) || l.State == inspect.StateUnknown {
		return // its queue may be longer
	}
	n := float64(l.Waiting())
	t.queues++
	t.waiters += n
	for _, le := range queueBuckets {
		if n <= le {
			t.buckets[le]++
		}
	}
}

// longestHeld is the greatest known age of a lock's holds, and the number of known ages. An age is
// unknown if its beginning is, or if the clock that dated it was not compared with ours.
func longestHeld(s *inspect.Snapshot, l *inspect.Lock, now time.Time) (oldest time.Duration, dated int) {
	for i := range l.Holders {
		if age, ok := s.Age(l, &l.Holders[i], l.Holders[i].HeldSince, now); ok && age.Known {
			oldest = max(oldest, age.Duration)
			dated++
		}
	}
	return oldest, dated
}

func (o samples) findings(backend string, t *tally) {
	for key, n := range t.findings {
		o.gauge(findings, float64(n), backend, key[0], key[1], key[2])
	}
}

func (o samples) tally(backend string, t *tally) {
	for key, n := range t.states {
		o.gauge(locks, float64(n), backend, key[0], key[1])
	}
	o.findings(backend, t)
	for aspect, n := range t.unknown {
		o.gauge(locksUnknown, float64(n), backend, aspect)
	}
	if t.held {
		o.gauge(oldestHold, t.oldest.Seconds(), backend)
	}
	if t.waited {
		o.gauge(longestWait, t.wait.Seconds(), backend)
	}
	o.gauge(undatedHolds, float64(t.undated), backend)
	o.to <- prometheus.MustNewConstHistogram(queueLength.desc, t.queues, t.waiters, t.buckets, backend)
}

func (o samples) lock(s *inspect.Snapshot, l *inspect.Lock, now time.Time) {
	name := label(l.ID.String())
	done := make(map[string]bool)
	for i := range l.Findings {
		if f := &l.Findings[i]; f.Muted == nil && f.Severity.Rank() >= inspect.Warning.Rank() && !done[f.Rule] {
			done[f.Rule] = true
			o.gauge(lockFinding, 1, name, f.Rule, string(f.Severity))
		}
	}
	if !l.Unknown(inspect.AspectWaiters) && l.State != inspect.StateUnknown {
		o.gauge(lockWaiters, float64(l.Waiting()), name)
	}
	if oldest, dated := longestHeld(s, l, now); dated > 0 {
		o.gauge(lockHeld, oldest.Seconds(), name)
	}
}

// longestLabel limits label values, in bytes. Longer names are truncated, with a digest to keep
// them distinct.
const longestLabel = 200

func label(id string) string {
	if len(id) <= longestLabel {
		return id
	}
	cut := longestLabel
	for cut > 0 && id[cut]&0xC0 == 0x80 { // not within a rune
		cut--
	}
	sum := sha256.Sum256([]byte(id))
	return id[:cut] + "…" + fmt.Sprintf("%x", sum[:8])
}
