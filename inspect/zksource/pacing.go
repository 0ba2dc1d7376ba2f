package zksource

import (
	"time"

	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// pacing limits how fast the servers are asked, and counts the cost.
type pacing struct {
	cfg Config
	// discovering and steady limit single-read requests for new nodes and for changes.
	discovering, steady *sourcekit.Bucket
	// requests, items and bytes limit multi-read requests.
	requests, items, bytes *sourcekit.Bucket
	pace                   sourcekit.Pace
	size                   zkwire.ReadSize

	flying  int // single-read requests in flight
	batches int // multi-read requests in flight

	throttle time.Duration // until the budget has a token again; zero if nothing waits for it
	paused   pause

	itemsRead, bytesRead uint64
}

// pause is the wait after servers have throttled us.
type pause struct {
	until time.Time
	last  time.Duration // how long it was; zero once a request was answered
}

// The shortest pause, and the longest ones during the first pass and later.
const minPause, maxFirstPause, maxPause = 100 * time.Millisecond, time.Second, 5 * time.Second

// newPacing returns the budgets of a configuration.
func newPacing(cfg Config) pacing {
	b := cfg.Budget
	if b.Unlimited {
		b.Discovering, b.Steady, b.Requests, b.Items, b.Bytes = 0, 0, 0, 0, 0
	}
	return pacing{
		cfg:         cfg,
		discovering: sourcekit.NewBucket(b.Discovering, max(1, b.Discovering/10)),
		steady:      sourcekit.NewBucket(b.Steady, max(1, b.Steady)),
		requests:    sourcekit.NewBucket(b.Requests, max(1, b.Requests/10)),
		items:       sourcekit.NewBucket(b.Items, max(1, b.Items/10)),
		bytes:       sourcekit.NewBucket(b.Bytes, b.Bytes/10),
	}
}

// takeMany returns the wait before the next multi-read request. A request without a wait is
// counted.
func (p *pacing) takeMany(discovers bool, now time.Time) time.Duration {
	if wait := max(p.items.Await(now), p.bytes.Await(now)); wait > 0 {
		return wait
	}
	if discovers {
		return p.requests.Take(now)
	}
	return p.steady.Take(now)
}

// next takes the next job for a request with a single read. If other jobs share requests, it only
// takes those that cannot. If the budget has no request left for a job, it returns the time to
// wait.
func (p *pacing) next(q *tree.Queue, many, firstPass bool, now time.Time) (j tree.Job, wait time.Duration, ok bool) {
	type source struct {
		list *[]tree.Job
		pays *sourcekit.Bucket
	}
	alone := source{&q.Alone, p.discovering}
	if firstPass {
		alone.pays = p.steady
	}
	sources := []source{alone}
	if !many {
		sources = []source{{&q.Urgent, p.steady}, {q.Discovery(), p.discovering}, {&q.Polls, p.steady}, alone}
	}
	for _, from := range sources {
		if len(*from.list) == 0 {
			continue
		}
		later := from.pays.Take(now)
		if later == 0 {
			return tree.Pop(from.list), 0, true
		}
		if wait == 0 || later < wait {
			wait = later
		}
	}
	return tree.Job{}, wait, false
}

// answered records how long a request took. Budgets are halved for slow servers.
func (p *pacing) answered(took time.Duration) {
	p.paused.last = 0
	p.pace.Add(took)
	for _, b := range [...]*sourcekit.Bucket{p.discovering, p.steady, p.requests, p.items, p.bytes} {
		b.Halved = p.pace.Slow
	}
}

// answeredMany records the answer to a multi-read request.
func (p *pacing) answeredMany(b *batch, at time.Time) {
	p.size.Answered(b.items, b.bytes)
	p.bytes.Spend(float64(b.bytes))
	p.itemsRead += uint64(b.items)
	p.bytesRead += uint64(b.bytes)
	p.answered(b.pace(at))
}

// throttled pauses before the next request, longer each time in a row.
func (p *pacing) throttled(firstPass bool, now time.Time) {
	longest := maxFirstPause
	if firstPass {
		longest = maxPause
	}
	p.paused.last = min(max(2*p.paused.last, minPause), longest)
	p.paused.until = now.Add(p.paused.last)
}

// gentle reports whether requests are kept short for the sake of other clients, as in a first pass
// with a budget.
func (p *pacing) gentle(q *tree.Queue) bool { return !p.cfg.Budget.Unlimited && q.Discovers() }

const (
	// requestsInFlight limits the unanswered multi-read requests. A server answers a session's
	// requests one after another, so more would only queue there ahead of urgent ones.
	requestsInFlight = 4
	// eagerInFlight is the limit for a pass without a budget. The server should not wait while we
	// handle its answers.
	eagerInFlight = 8
	// gentleItems and gentleInFlight are the limits for a first pass with a budget. Other clients
	// wait until the server has finished a request. With 200 reads and four requests, another
	// program's p99 was 2.2 times its value alone, and 2.7 times while ls ran. With these limits it
	// was 1.05 and 1.1 times, for twice the server's CPU time (BenchmarkNeighbour).
	gentleItems, gentleInFlight = 50, 2
	// mostInFlight limits the unanswered requests to distant servers.
	mostInFlight = 64
	// mostMore limits how many more requests one answer allows, since a network may deliver two
	// answers together that the server sent apart.
	mostMore = 8
)

// mayFly returns how many multi-read requests may be unanswered. For short ones it is two, plus
// what the budget sends in one round trip, if the server handles these without queueing (see
// distance). A slowed server gets two.
func (p *pacing) mayFly(q *tree.Queue, d *distance) int {
	switch {
	case p.cfg.Budget.Unlimited && q.Discovers():
		return eagerInFlight
	case !p.gentle(q):
		return requestsInFlight
	case p.pace.Slow:
		return gentleInFlight
	}
	onTheWay := p.cfg.Budget.Items / gentleItems * d.quickest.Seconds()
	if p.bytesRead > 0 {
		bytes := gentleItems * float64(p.bytesRead) / float64(p.itemsRead) // of an answer
		onTheWay = min(onTheWay, p.cfg.Budget.Bytes/bytes*d.quickest.Seconds())
	}
	return gentleInFlight + int(min(onTheWay, mostInFlight-gentleInFlight, float64(d.spare)))
}

// distance estimates how far away a server is. A distant server answers each request equally late,
// however many are in flight. On a slow server they queue, and more of them do not help. The
// greeting cannot distinguish the two.
type distance struct {
	quickest time.Duration // the fastest answer, at first to the session request; zero before
	// spare is how many multi-read requests may be in flight beyond the first ones, as many as
	// did not slow down the answers.
	spare    int
	answered time.Time // the newest of them
}

// learn records how long a request took, and the time since the previous answer. A session's requests
// are answered in order, so the server needed at most that time for it. If that is a small part of
// the round trip, more requests may be in flight. At one more per answer, 64 are in flight after five
// round trips.
func (d *distance) learn(took, apart time.Duration) {
	if d.quickest == 0 || took < d.quickest {
		d.quickest = took
	}
	switch {
	case took <= d.quickest+d.quickest/4:
		more := min(d.quickest/2/max(apart, 1), mostMore)
		d.spare = min(d.spare+max(int(more), 1), mostInFlight-gentleInFlight)
	case took > 2*d.quickest:
		d.spare /= 2
	}
}
