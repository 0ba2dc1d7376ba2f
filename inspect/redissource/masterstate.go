package redissource

import (
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// perKey is roughly how long each key of a pipeline takes. Subtracting it makes batches of any size
// comparable.
const perKey = 5 * time.Microsecond

// masterState is the loop's view of one master.
type masterState struct {
	*node.Master
	index    int
	passed   bool            // its keys were read once, or could not be
	wentOver time.Time       // when its newest finished pass began; zero before the first
	unsought *inspect.Unseen // why its keys could not be listed; nil if they were
	asked    bool            // its status was requested once
	met      bool            // SeveralServers was checked once
	several  bool            // several servers answer at its address
	err      error           // why it does not answer; nil if it does
	lost     int             // how often it stopped answering
	server   inspect.Server
	unseen   []inspect.Unseen // what it did not report about itself
	restart  chan struct{}    // asks for its status now
	reported bool             // INFO succeeded once
	scanned  int              // keys of the newest pass; -1 if not counted
	// databases lists the databases that hold keys, from INFO.
	databases []inspect.Database

	tracking
	auditing
	readQueue
	inFlight
}

// tracking is the state of a master's pushes.
type tracking struct {
	pushing     bool
	armedAt     time.Time
	pushedUntil time.Time       // all changes until then were pushed; zero before the first connection was lost
	refused     *inspect.Unseen // why it does not push; nil while it may still start
	inbox       inbox
	heard       time.Time   // when the newest answered ping was sent; earlier pushes are known
	resting     atomic.Bool // it pushes, and a pass has finished since
}

// auditing counts the keys that should exist.
type auditing struct {
	auditedAt time.Time
	counting  bool
	// countedAt is when the newest finished count was requested. Keys that ended without a push did
	// so after it.
	countedAt time.Time
}

// readQueue has the keys to read, in turn, or later if they were read too often.
type readQueue struct {
	turn    []string
	wanted  map[string]bool
	later   expiryQueue
	spent   map[string]time.Time // the used part of each key's own limit
	probe   bool                 // a ping is wanted
	reads   time.Time            // the used part of the master's limit
	polled  time.Time            // the used part of the polling limit
	pace    sourcekit.Pace
	retryAt time.Time
}

type inFlight struct {
	busy    bool
	late    bool // the last read exceeded grace, so reports do not wait for the next one
	asking  []string
	askedAt time.Time
}

func newMasterState(m *node.Master, index int) *masterState {
	return &masterState{
		Master: m, index: index, restart: make(chan struct{}, 1), scanned: -1,
		readQueue: readQueue{wanted: map[string]bool{}, spent: map[string]time.Time{}},
	}
}

// up reports whether the master's last answer succeeded.
func (p *masterState) up() bool { return p.server.State == inspect.ServerUp }

// down reports whether the master failed to answer.
func (p *masterState) down() bool { return p.server.State == inspect.ServerDown }

// mayHaveHad reports whether a pushed, unknown key may have existed earlier: no pass has finished,
// or none since the time when nothing was pushed.
func (p *masterState) mayHaveHad() bool {
	return p.wentOver.IsZero() || !p.resting.Load() && p.armedAt.Sub(p.wentOver) > inspect.MostLate
}

// goOverAgain requests another full pass over the keys, since pushes may have been lost.
func (p *masterState) goOverAgain(now time.Time) {
	p.armedAt = now
	p.resting.Store(false)
}

func (p *masterState) want(key string, perKey node.Limit, now time.Time) {
	if p.wanted[key] {
		return
	}
	p.wanted[key] = true
	if at := perKey.Ready(p.spent[key], now); at.After(now) {
		p.later.set(key, at)
	} else {
		p.turn = append(p.turn, key)
	}
}

func (p *masterState) take(n int, perKey node.Limit, now time.Time) []string {
	p.turn = append(p.turn, p.later.due(now)...)
	n = min(n, len(p.turn))
	keys := p.turn[:n:n]
	if p.turn = p.turn[n:]; len(p.turn) == 0 {
		p.turn = nil
	}
	for _, key := range keys {
		delete(p.wanted, key)
		if perKey.Every > 0 {
			p.spent[key] = perKey.Spend(p.spent[key], now, 1)
		}
	}
	return keys
}

// idle reports whether no read is wanted or running.
func (p *masterState) idle() bool { return !p.busy && len(p.wanted) == 0 && !p.probe }

// nextRead returns when the next read is due; false if that does not depend on the clock.
func (p *masterState) nextRead(now time.Time, perMaster node.Limit) (time.Time, bool) {
	if p.busy || !p.asked {
		return time.Time{}, false // wait for the running read, and for its clock and role
	}
	at, ok := p.later.next()
	if len(p.turn) > 0 || p.probe {
		at, ok = now, true
	}
	for _, not := range []time.Time{p.retryAt, perMaster.Ready(p.reads, now)} {
		if not.After(at) {
			at = not
		}
	}
	return at, ok
}

// forgetReads drops all pending reads.
func (p *masterState) forgetReads() {
	p.turn, p.probe = nil, false
	clear(p.wanted)
	p.later.clear()
}

// failed notes that the master does not answer, and why.
func (p *masterState) failed(err error) {
	if p.up() {
		p.lost++
	}
	p.server.State, p.server.Error, p.server.Latency = inspect.ServerDown, inspect.Escape(err.Error()), -1
	p.server.Fault = ""
	if connect.Ours(err) || redisreply.Ours(err) {
		p.server.Fault = inspect.FaultOurs
	}
	p.err = err
}

// answered notes that the master answers.
func (p *masterState) answered(latency time.Duration) {
	p.server.State, p.server.Error, p.server.Fault, p.server.Latency = inspect.ServerUp, "", "", latency
	p.err = nil
}

// setStatus ignores jitter in known times, and keeps a memory limit that is no longer reported.
func (p *masterState) setStatus(st node.Status) {
	was := p.server
	p.server, p.unseen, p.databases = st.Server, st.Unseen, st.Databases
	s := &p.server
	s.State, s.Error, s.Fault = was.State, was.Error, was.Fault
	if st.Reported {
		p.reported = true
	} else {
		s.MaxMemory, s.EvictionPolicy = was.MaxMemory, was.EvictionPolicy
	}
	if was.ClockKnown && (s.ClockOffset-was.ClockOffset).Abs() <= 5*time.Millisecond {
		s.ClockOffset, s.ClockKnown, s.ClockWithin = was.ClockOffset, was.ClockKnown, was.ClockWithin
	}
	if s.StartedAt.Sub(was.StartedAt).Abs() <= 2*time.Second {
		s.StartedAt = was.StartedAt
	}
}

// replicaStatus records a cluster replica's status. A replica has no vote.
func (p *masterState) replicaStatus(rep statusReport) {
	if rep.met {
		return
	}
	p.asked = true
	if rep.err != nil {
		p.failed(rep.err)
		return
	}
	p.answered(rep.status.Latency)
	p.setStatus(rep.status)
}

func (p *masterState) requestStatusNow() {
	select {
	case p.restart <- struct{}{}:
	default:
	}
}
