package redissource

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// silentFor is the number of time limits after which a tracking connection is given up on which nothing came, whatever the server does:
// until then a server that stands still (a long command, a fork, a machine that is too busy) sends all that it has to push once it goes on,
// and nothing has to be read again for it.
const silentFor = 10

// unanswered are the times at which the pings of a connection were sent that have no answer yet: an error does not repeat what it was
// asked. Answers come in the order of the pings.
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

// backlog returns since when what comes now may have waited, and whether an answer is late: all that comes before it has waited then.
func (u *unanswered) backlog(now time.Time, limit time.Duration) (since time.Time, late bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since, len(u.sent) > 0 && now.Sub(u.sent[0]) >= limit
}

// patience tells a connection that is lost without a word (a router forgot it) from a server that is late. Both are silent on it; but the
// first answers on another connection.
type patience struct {
	limit  time.Duration
	late   time.Time // when the ping was sent that is late; zero: none is
	asked  time.Time // when the server was to be asked elsewhere
	spoken time.Time // when it was seen that it had answered that
}

// beat takes in the oldest ping without an answer (zero: none), and when the newest request was sent that the server answered elsewhere. The
// server is to be asked there about a ping that is late; the connection is lost where the server answers that, and even so nothing comes
// here within the time limit, which is for what lies in our own socket.
func (w *patience) beat(now, oldest, answered time.Time) (ask, lost bool) {
	switch {
	case oldest.IsZero() || now.Sub(oldest) < w.limit:
		*w = patience{limit: w.limit}
	case !w.late.Equal(oldest):
		*w = patience{limit: w.limit, late: oldest, asked: now}
		return true, false
	case answered.Before(w.asked):
	case w.spoken.IsZero():
		w.spoken = now
	default:
		lost = now.Sub(w.spoken) >= w.limit
	}
	return false, lost
}

// keepAlive pings until the connection ends, and ends it where it is lost, or the sentinels have replaced the server at its address.
func (p *pusher) keepAlive(ctx context.Context, conn *redis.PubSub, at string) {
	defer conn.Close()
	wait := patience{limit: p.m.timeout}
	for sleep(ctx, p.m.timeout/2) == nil && p.ping(ctx, conn) == nil && p.m.address() == at {
		ask, lost := wait.beat(p.m.now(), p.pings.oldest(), p.m.answeredAt())
		if lost {
			return
		}
		if ask {
			p.late()
		}
	}
}
