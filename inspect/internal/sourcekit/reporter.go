package sourcekit

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// slowBeat is the interval of reports while figures hardly change.
const slowBeat = 10 * time.Second

// Reporter times the reports of a backend's state. It reports at most once a second while only
// figures change noticeably, and at a slow pace while they hardly do. All other changes are
// reported at once.
type Reporter struct {
	// Last is the last report; nil before. It must not be changed.
	Last   *inspect.Backend
	lastAt time.Time
	rates  rateMeter
	items  rateMeter
	bytes  rateMeter
	// servers are the rates by address. There are few, and hardly ever new ones.
	servers map[string]*rateMeter
}

// Report fills in the rates of our requests and returns what to emit, or nil when b has nothing new. always reports it
// anyway.
func (t *Reporter) Report(now time.Time, b *inspect.Backend, always bool) *inspect.Backend {
	t.rates.add(now, b.Cost.Requests)
	b.Cost.PerSecond = t.rates.perSecond()
	for i := range b.Servers {
		s := &b.Servers[i]
		meter := t.servers[s.Addr]
		if meter == nil {
			if t.servers == nil {
				t.servers = map[string]*rateMeter{}
			}
			meter = new(rateMeter)
			t.servers[s.Addr] = meter
		}
		meter.add(now, s.Requests)
		s.PerSecond = meter.perSecond()
	}
	t.items.add(now, b.Cost.Items)
	b.Cost.ItemsPerSecond = t.items.perSecond()
	t.bytes.add(now, b.Cost.Bytes)
	b.Cost.BytesPerSecond = t.bytes.perSecond()
	if t.Last != nil && !always && same(t.Last, b) {
		age := now.Sub(t.lastAt)
		if age < time.Second || age < slowBeat && !noticeable(t.Last, b) {
			return nil
		}
	}
	t.Last, t.lastAt = b, now
	return b
}

// rateMeter turns a growing count into a rate over the last seconds.
type rateMeter struct {
	times  [6]time.Time
	counts [6]uint64
	n      int
}

// add takes a sample when the last is a second old.
func (r *rateMeter) add(now time.Time, count uint64) {
	if r.n > 0 && now.Sub(r.times[(r.n-1)%len(r.times)]) < time.Second {
		return
	}
	r.times[r.n%len(r.times)], r.counts[r.n%len(r.counts)] = now, count
	r.n++
}

func (r *rateMeter) perSecond() float64 {
	if r.n < 2 {
		return 0
	}
	newest, oldest := (r.n-1)%len(r.times), max(0, r.n-len(r.times))%len(r.times)
	return float64(r.counts[newest]-r.counts[oldest]) / r.times[newest].Sub(r.times[oldest]).Seconds()
}

// same compares the fields whose changes are reported at once.
func same(a, b *inspect.Backend) bool {
	return a.State == b.State && a.Mode == b.Mode && a.Error == b.Error && a.Reading == b.Reading &&
		a.FirstPass == b.FirstPass &&
		slices.Equal(a.Unseen, b.Unseen) &&
		slices.EqualFunc(a.Findings, b.Findings, func(x, y inspect.Finding) bool { return x.Message == y.Message }) &&
		a.Clock.Known == b.Clock.Known && a.Clock.From == b.Clock.From && near(a.Clock.Offset, b.Clock.Offset) &&
		slices.EqualFunc(a.Servers, b.Servers, sameServer)
}

// sameServer compares everything except figures that change with every answer.
func sameServer(a, b inspect.Server) bool {
	if !near(a.ClockOffset, b.ClockOffset) || !a.StartedAt.Equal(b.StartedAt) {
		return false
	}
	b.ClockOffset, b.ClockWithin, b.StartedAt = a.ClockOffset, a.ClockWithin, a.StartedAt
	b.Requests, b.Heartbeats, b.PerSecond = a.Requests, a.Heartbeats, a.PerSecond
	b.Latency, b.Zxid, b.LeadsFor = a.Latency, a.Zxid, a.LeadsFor
	return a == b
}

func near(a, b time.Duration) bool { return (a - b).Abs() < 5*time.Millisecond }

// noticeable reports whether a figure changed enough for a viewer to notice.
func noticeable(a, b *inspect.Backend) bool {
	if differs(a.Cost.PerSecond, b.Cost.PerSecond, 1) || a.Scanned != b.Scanned || a.Cost.Watches != b.Cost.Watches {
		return true
	}
	for i := range a.Servers {
		if differs(a.Servers[i].Latency.Seconds(), b.Servers[i].Latency.Seconds(), 0.005) {
			return true
		}
	}
	return false
}

// differs reports whether two figures are more than a quarter, and more than least, apart.
func differs(a, b, least float64) bool {
	apart := max(a, b) - min(a, b)
	return apart > least && apart > max(a, b)/4
}
