package soak

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// hold is one acquisition as its client recorded it. Unknown times are zero.
type hold struct {
	lock, name string // BACKEND:PATH, and the contender on the server
	client     string
	asked      time.Time // before the first request
	acquired   time.Time // after the grant
	releasing  time.Time // before the release was sent
	released   time.Time // after it was confirmed
	lost       time.Time // the client learnt of the loss, was killed, or gave up waiting
}

// over is the earliest time at which the hold may end on the servers, and false while it lasts.
func (h *hold) over() (time.Time, bool) {
	switch {
	case !h.releasing.IsZero() && !h.lost.IsZero():
		if h.releasing.Before(h.lost) {
			return h.releasing, true
		}
		return h.lost, true
	case !h.releasing.IsZero():
		return h.releasing, true
	default:
		return h.lost, !h.lost.IsZero()
	}
}

// try is an attempt to acquire a lock.
type try struct{ from, to time.Time }

// ledger has the records of all clients. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	holds    map[[2]string]*hold // by lock and name
	tries    map[string][]try    // failed ones with unknown names, by lock; see nameless
	count    map[string]int      // of operations, by kind
	prefixes map[[2]string]bool  // of the names of nodes that a client may have created, by lock and prefix
}

func newLedger() *ledger {
	return &ledger{holds: map[[2]string]*hold{}, tries: map[string][]try{}, count: map[string]int{}, prefixes: map[[2]string]bool{}}
}

// record updates a hold, and creates it first if needed.
func (l *ledger) record(kind, lock, name string, change func(*hold)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[kind]++
	key := [2]string{lock, name}
	h := l.holds[key]
	if h == nil {
		h = &hold{lock: lock, name: name}
		l.holds[key] = h
	}
	change(h)
}

// failed records a failed attempt with an unknown name.
func (l *ledger) failed(lock string, from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count["gave up"]++
	l.tries[lock] = append(l.tries[lock], try{from, time.Now()})
}

// nameless reports whether an attempt with an unknown name was in progress. A server may execute an
// abandoned request after the fault that delayed it.
func (l *ledger) nameless(lock string, at time.Time, f *faults) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.tries[lock], func(t try) bool {
		return at.After(t.from.Add(-time.Second)) && at.Before(f.settled(t.to, at, backendOf(lock)).Add(ttlOf(lock)+late))
	})
}

// began records that a client will create nodes with this prefix. kazoo creates another after its
// session has expired.
func (l *ledger) began(lock, prefix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prefixes[[2]string{lock, prefix}] = true
}

// abandoned reports whether a client may have created this node without knowing it.
func (l *ledger) abandoned(lock, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prefixes[[2]string{lock, name[:max(0, len(name)-sequenceDigits)]}]
}

// sequenceDigits is the number of digits that ZooKeeper appends to a sequential node's name.
const sequenceDigits = 10

func (l *ledger) find(lock, name string) (hold, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holds[[2]string{lock, name}]
	if h == nil {
		return hold{}, false
	}
	return *h, true
}

func (l *ledger) all() []hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]hold, 0, len(l.holds))
	for _, h := range l.holds {
		list = append(list, *h)
	}
	return list
}

// killed records a client's death.
func (l *ledger) killed(client string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.holds {
		if h.client == client && h.released.IsZero() && h.lost.IsZero() {
			h.lost = at
		}
	}
}

func (l *ledger) counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.count)
}

// fault is a disturbance. Reports about what it touches are not checked until some time after it.
type fault struct {
	kind     string
	touches  []string // backends, servers and clients
	from, to time.Time
}

// overlaps reports whether it lasted within a span, or ended before that by less than after.
func (f *fault) overlaps(from, to time.Time, after time.Duration) bool {
	return !f.from.After(to) && (f.to.IsZero() || f.to.Add(after).After(from))
}

func (f *fault) disturbs(touched []string) bool {
	return slices.ContainsFunc(touched, func(name string) bool { return slices.Contains(f.touches, name) })
}

// faults is the list of all faults. It is safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	list []*fault
}

// begin records the start of a fault. The returned function records its end.
func (f *faults) begin(kind string, touches ...string) (end func()) {
	return f.since(time.Now(), kind, touches...)
}

// since is begin for a fault that started earlier.
func (f *faults) since(from time.Time, kind string, touches ...string) (end func()) {
	one := &fault{kind: kind, touches: touches, from: from}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		one.to = time.Now()
	}
}

// find returns the newest fault for which ok is true.
func (f *faults) find(ok func(*fault) bool) (fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range slices.Backward(f.list) {
		if ok(one) {
			return *one, true
		}
	}
	return fault{}, false
}

// during finds a fault that touches one of these within a span. The fault may have ended before the
// span, by less than after.
func (f *faults) during(from, to time.Time, after time.Duration, touched ...string) (fault, bool) {
	return f.find(func(one *fault) bool { return one.overlaps(from, to, after) && one.disturbs(touched) })
}

// settled returns when the overlapping faults of a backend had ended, or now while one lasts.
func (f *faults) settled(from, now time.Time, backend string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list { // nearly in order of time
		switch {
		case !slices.Contains(one.touches, backend) || one.from.After(from):
		case one.to.IsZero():
			return now
		case one.to.After(from):
			from = one.to
		}
	}
	return from
}

// sight is the longest part of a span without a fault and the recovery from it.
func (f *faults) sight(from, to time.Time, touched ...string) (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list { // nearly in order of time
		if !one.disturbs(touched) || !one.from.Before(to) {
			continue
		}
		longest = max(longest, one.from.Sub(from))
		if one.to.IsZero() {
			return longest
		}
		if again := one.to.Add(regained); again.After(from) {
			from = again
		}
	}
	return max(longest, to.Sub(from))
}

// withBlindness adds the gaps that an observer reported.
func (f *faults) withBlindness(reports []observed, by string) *faults {
	f.mu.Lock()
	all := slices.Clone(f.list)
	f.mu.Unlock()
	for _, e := range reports {
		if e.by == by && e.Event == "blind" && e.Backend != nil {
			all = append(all, &fault{kind: "blind", touches: []string{e.Backend.Name}, from: e.Between.From, to: e.Between.To})
		}
	}
	slices.SortStableFunc(all, func(a, b *fault) int { return a.from.Compare(b.from) })
	return &faults{list: all}
}

// regained is how long an observer may need to recover after a fault. It asks the Sentinels and
// reconnects.
const regained = 5 * time.Second
