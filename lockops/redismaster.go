package lockops

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// master is one Redis and its state.
type master struct {
	name       string
	session    *RedisSession
	client     redis.UniversalClient
	cluster    bool
	subscriber *subscriber
	requests   atomic.Uint64
	dials      atomic.Uint64 // connections made so far
	newest     atomic.Int64  // how long its newest answer took, or the wait for it, in ns
	least      atomic.Int64  // how long its fastest answer took; 0 before the first

	mu               sync.Mutex
	clocks           map[uint16]clockReading // by slot; 0 for all where there is no Cluster
	identity         identity
	replaced         bool   // the server was replaced or restarted
	reported         string // run id of the restart that was reported
	failures         int    // requests in a row that were not answered
	breakerOpenUntil time.Time
	pendingReleases  map[string][]chan struct{} // votes that are being taken back, by key
}

// meet reads a master's clock and identity.
func (m *master) meet(limit time.Duration) error {
	if err := m.identify(m.session.clock.now().Add(-lentIdentity), limit); err != nil {
		return err
	}
	if m.cluster { // each slot has its own clock
		m.requests.Add(1)
		r := m.reach(m.session.ctx, limit)
		err := m.client.Ping(r).Err()
		if r.done(err); refused(err) { // a lock does not need this permission
			err = nil
		}
		if err != nil {
			return m.failed(err)
		}
		return nil
	}
	_, err := m.readClock(m.session.ctx, "", limit)
	return err
}

// releasing records that a vote is about to be taken back. Call done once the master has answered
// or timed out.
func (m *master) releasing(key string) (done func()) {
	ended := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pendingReleases == nil {
		m.pendingReleases = make(map[string][]chan struct{})
	}
	m.pendingReleases[key] = append(m.pendingReleases[key], ended)
	return func() {
		close(ended)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pendingReleases[key] = slices.DeleteFunc(m.pendingReleases[key],
			func(ch chan struct{}) bool { return ch == ended })
		if len(m.pendingReleases[key]) == 0 {
			delete(m.pendingReleases, key)
		}
	}
}

// releases returns the votes for a key that are being taken back now; pass them to awaitReleases.
func (m *master) releases(key string) []chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pendingReleases[key])
}

// awaitReleases waits until votes have been taken back, but no longer than limit.
func awaitReleases(votes []chan struct{}, limit time.Duration) {
	if len(votes) == 0 {
		return
	}
	late := time.After(limit)
	for _, done := range votes {
		select {
		case <-done:
		case <-late:
			return
		}
	}
}

// failed names the server of an error. In a Cluster that is the server that could not be reached,
// if known, not the one that redirected to it.
func (m *master) failed(err error) error {
	node := m.name
	var op *net.OpError
	if m.cluster && errors.As(err, &op) && op.Addr != nil {
		node = op.Addr.String()
	}
	return &NodeError{Node: node, Err: err}
}

// counts returns "1" if PUBLISH counts every receiver. A Cluster's servers count only their own
// clients.
func (m *master) counts() string {
	if m.cluster {
		return "0"
	}
	return "1"
}

// The breaker skips a master that left breakerAfter requests in a row unanswered. The pause doubles
// from breakerFirst to breakerMost with every further failure. Then one request probes whether the
// master answers again. A single Redis has no breaker, since there is no other master to ask.
const (
	breakerAfter = 3
	breakerFirst = 100 * time.Millisecond
	breakerMost  = 5 * time.Second
)

// record counts failures in a row. An error reply or a message counts as an answer.
func (m *master) record(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answered(err) {
		m.failures = 0
		return
	}
	m.failures++
	if m.failures >= breakerAfter {
		m.breakerOpenUntil = m.session.clock.now().Add(min(breakerFirst<<min(m.failures-breakerAfter, 10), breakerMost))
	}
}

// unanswered returns the number of requests in a row without an answer.
func (m *master) unanswered() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures
}

// silent reports whether a master has left its newest requests unanswered.
func (m *master) silent() bool { return m.unanswered() >= breakerAfter }

// admit reports whether a master is asked to take a lock. A silent one gets one request at a time,
// since concurrent ones would each open a connection and abandon it.
func (m *master) admit(limit time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures < breakerAfter || len(m.session.masters) == 1 {
		return true
	}
	now := m.session.clock.now()
	if now.Before(m.breakerOpenUntil) {
		return false
	}
	m.breakerOpenUntil = now.Add(m.session.opts.limit + limit)
	return true
}

// eval runs a script, by its digest when the server knows it.
func (m *master) eval(r *reach, sc *script, keys []string, args ...any) (string, error) {
	request := append(make([]any, 0, 3+len(keys)+len(args)), "evalsha", sc.sha, len(keys))
	for _, k := range keys {
		request = append(request, k)
	}
	request = append(request, args...)
	cmd := m.send(r, request)
	if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		request[0], request[1] = "eval", sc.source
		r.restart()
		cmd = m.send(r, request)
	}
	if errors.Is(cmd.Err(), redis.Nil) {
		return "", foreignReply("")
	}
	return cmd.Result()
}

func (m *master) send(r *reach, request []any) *redis.StringCmd {
	m.requests.Add(1)
	cmd := redis.NewStringCmd(r, request...)
	_ = m.client.Process(r, cmd)
	r.done(cmd.Err())
	return cmd
}

// unsent reports whether an error proves that the server did not get the request. A client of a Cluster may
// have sent it before.
func (m *master) unsent(err error) bool {
	var op *net.OpError
	return !m.cluster && (errors.As(err, &op) && op.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout))
}

// verdict is a master's answer to a script that takes a lock.
type verdict struct {
	taken bool
	token uint64
	pttl  time.Duration // of the holder; negative when it has none
	at    int64         // the master's clock when it judged, µs since 1970; 0 without an answer
	err   error         // *NodeError when the master did not answer or not as expected
	sent  time.Time     // earliest time at which the answered request was sent
	// lateUntil is when the script begins to refuse an unanswered request; zero if none is unanswered.
	lateUntil time.Time
}

// request holds the arguments of a script that takes a lock.
type request struct {
	script *script
	keys   []string
	value  string
	ttl    time.Duration
	since  int64         // arrival time in the queue (see acquire.lua)
	beat   time.Duration // the heartbeat of a fair lock, else 0
	name   string        // of the waiter, when it is not the value
	polite bool          // let all waiters go first
	brief  bool          // the limit includes connecting
}

// notInQueue is the value of since for a request that never queues.
const notInQueue = -1

// acquire runs a script that takes a lock. limit bounds the wait for the answer; a script that
// arrives later takes nothing.
func (m *master) acquire(r request, limit time.Duration) verdict {
	clock, err := m.clockFor(r.keys[0], limit, r.brief)
	if err != nil {
		return verdict{err: err}
	}
	before := m.session.sleepClock.now()
	deadline := before.Add(limit)
	last, slack := clock.latest(deadline)
	args := append(make([]any, 0, 6), r.value, r.ttl.Milliseconds(), last, r.since)
	switch {
	case r.beat > 0:
		args = append(args, r.beat.Microseconds(), m.counts())
	case r.polite:
		args = append(args, r.name, "1")
	case r.name != "":
		args = append(args, r.name)
	}
	dials := m.dials.Load()
	sending := m.reach(context.Background(), limit)
	sending.brief = r.brief
	reply, err := m.eval(sending, r.script, r.keys, args...)
	after, sent := m.session.clock.now(), before.Add(sending.waited())
	var v verdict
	if err == nil {
		v, err = m.judge(reply, r.keys[0], clockReading{before: sent, after: after, dials: dials})
		v.sent = sent
	}
	if err != nil {
		v = verdict{err: m.failed(explain(err, r.script, r.keys))}
		if !isServerReply(err) {
			v.lateUntil = deadline.Add(slack + time.Millisecond)
		}
	}
	return v
}

// judge reads "verdict detail seconds microseconds".
func (m *master) judge(reply, key string, asked clockReading) (verdict, error) {
	var n [4]int64
	rest := reply
	for i := range n {
		var field string
		field, rest, _ = strings.Cut(rest, " ")
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return verdict{}, foreignReply(reply)
		}
		n[i] = v
	}
	if rest != "" || n[0] < -1 || n[0] > 1 {
		return verdict{}, foreignReply(reply)
	}
	asked.server = n[2]*1e6 + n[3]
	m.setClock(key, asked)
	switch n[0] {
	case 1:
		return verdict{taken: true, token: uint64(n[1]), at: asked.server}, nil
	case 0:
		return verdict{pttl: time.Duration(n[1]) * time.Millisecond, at: asked.server}, nil
	}
	return verdict{err: m.failed(errLate)}, nil
}

var errLate = errors.New("the request reached the master too late, or its clock was set")

// timeByKey asks the Cluster server that has a key for its time, in µs since 1970.
func (m *master) timeByKey(r *reach, key string) (int64, error) {
	reply, err := m.eval(r, clockScript, []string{key})
	if err != nil {
		return 0, err
	}
	seconds, micros, _ := strings.Cut(reply, " ")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil {
		return 0, foreignReply(reply)
	}
	return s*1e6 + us, nil
}

// compare runs a script that acts on a key if it has our value. It returns nil on success,
// otherwise a *NodeError with ErrGone, ErrOther, or the reason why there was no answer.
func (m *master) compare(ctx context.Context, sc *script, keys []string, limit time.Duration, args ...any) error {
	_, err := m.compareReply(ctx, sc, keys, limit, args...)
	return err
}

// compareReply is like compare and also returns the script's reply.
func (m *master) compareReply(
	ctx context.Context, sc *script, keys []string, limit time.Duration, args ...any,
) (string, error) {
	reply, err := m.eval(m.reach(ctx, limit), sc, keys, args...)
	switch {
	case err != nil:
		return "", m.failed(explain(err, sc, keys))
	case !slices.Contains(sc.answers, reply):
		return "", m.failed(foreignReply(reply))
	case reply == "0":
		return reply, m.failed(ErrGone)
	case reply == "-1":
		return reply, m.failed(ErrOther)
	}
	return reply, nil
}

// drift shortens a holder's trust in its TTL: by one percent for clocks that run at different
// rates and two milliseconds for the granularity of Redis (redis.io, "Distributed locks").
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }
