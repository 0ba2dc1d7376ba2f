package node

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/internal/sourcekit"
)

// silentFor is the number of time limits after which a tracking connection is given up on which nothing came,
// whatever the server does: until then a server that stands still (a long command, a fork, a machine that is
// too busy) sends all that it has to push once it goes on, and nothing has to be read again for it.
const silentFor = 10

// unanswered are the times at which the pings of a connection were sent that have no answer yet: an error
// does not repeat what it was asked. Answers come in the order of the pings.
type unanswered struct {
	mu    sync.Mutex
	sent  []time.Time
	since time.Time // when the newest ping was sent that has its answer; before the first, when the first was sent
}

func (u *unanswered) reset() {
	u.mu.Lock()
	u.sent, u.since = nil, time.Time{}
	u.mu.Unlock()
}

func (u *unanswered) add(at time.Time) {
	u.mu.Lock()
	u.sent = append(u.sent, at)
	if u.since.IsZero() {
		u.since = at
	}
	u.mu.Unlock()
}

// oldest is the time of the ping that waits for the next answer; zero: none does.
func (u *unanswered) oldest() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sent) == 0 {
		return time.Time{}
	}
	return u.sent[0]
}

// next takes the oldest out, which the newest answer is for; false where none waits for one.
func (u *unanswered) next() (at time.Time, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sent) == 0 {
		return time.Time{}, false
	}
	at, u.sent = u.sent[0], u.sent[1:]
	u.since = at
	return at, true
}

// backlog returns since when what comes now may have waited, and whether an answer is late: all that comes
// before it has waited then.
func (u *unanswered) backlog(now time.Time, limit time.Duration) (since time.Time, late bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since, len(u.sent) > 0 && now.Sub(u.sent[0]) >= limit
}

// lostInSilence reports whether a tracking connection is lost although nothing said so (a router forgot it):
// a ping has had no answer for twice the time limit, and the server has answered what was asked elsewhere
// meanwhile. A server that stands still answers nowhere.
func lostInSilence(now, oldest, answered time.Time, limit time.Duration) bool {
	return !oldest.IsZero() && now.Sub(oldest) >= 2*limit && answered.After(oldest.Add(limit))
}

// keepAlive pings until the connection ends, and ends it where it is lost, or the sentinels have replaced the
// server at its address.
func (p *Pusher) keepAlive(ctx context.Context, conn *redis.PubSub, at string) {
	defer conn.Close()
	limit := p.Master.Timeout
	for sourcekit.Sleep(ctx, limit/2) == nil && p.ping(ctx, conn) == nil && p.Master.Address() == at {
		now, oldest := p.Master.now(), p.pings.oldest()
		if lostInSilence(now, oldest, p.Master.answeredAt(), limit) {
			return
		}
		if !oldest.IsZero() && now.Sub(oldest) >= limit {
			p.Late()
		}
	}
}
