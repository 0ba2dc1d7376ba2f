package node

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// serverClock is the last known offset of the server's clock.
type serverClock struct {
	offset atomic.Int64 // from ours, in nanoseconds
	// unknown holds why the offset is unknown; nil if it is known.
	unknown atomic.Pointer[inspect.Unseen]
	// refused is set when the server refused TIME; then it is not sent along with the keys.
	refused atomic.Bool
}

// scored reports whether the missing data or, with main, the key itself holds times by the server's
// clock. These are read together with the clock, which may step between two reads.
func (r *keyReading) scored(main bool) bool {
	return main && r.shape.kind == recipe.TypeZSet || slices.ContainsFunc(r.missing, func(q recipe.Query) bool {
		return q.Type == recipe.TypeZSet || strings.HasPrefix(q.Key, recipe.AlivePrefix)
	})
}

// requestClock queues TIME. It returns nil if TIME was refused last time, since the server logs
// refused commands.
func (m *Master) requestClock(ctx context.Context, p redis.Pipeliner) *redis.TimeCmd {
	if m.clock.refused.Load() { // the status asks for it again
		return nil
	}
	return p.Time(ctx)
}

// rereadClock asks the cluster node itself, since key reads may go to any node. Without an answer
// the clock is unknown.
func (m *Master) rereadClock(ctx context.Context) {
	if m.clock.refused.Load() {
		return
	}
	var clock *redis.TimeCmd
	var start time.Time
	err := m.pipelined(ctx, func(ctx context.Context, p redis.Pipeliner) {
		start = m.now()
		clock = p.Time(ctx)
	})
	end := m.now()
	if err != nil {
		clock = redis.NewTimeCmd(ctx, "time")
		clock.SetErr(err)
	}
	m.readClock(new(Status), clock, "", start.Add(end.Sub(start)/2))
}

// readClock reads the server's clock from TIME or, if that is refused, from INFO (Redis 6.2 and
// later).
func (m *Master) readClock(st *Status, clock *redis.TimeCmd, info string, middle time.Time) {
	at, err := clock.Result()
	m.clock.refused.Store(redisreply.Denied(err) || redisreply.UnknownCommand(err))
	if us, ok := infoNumber(info, "server_time_usec"); err != nil && ok {
		at, err = time.UnixMicro(us), nil
	}
	if err != nil {
		u := m.miss(inspect.AspectServer, clock, rightFor(clock, ""))
		st.Unseen = append(st.Unseen, u)
		m.clock.unknown.Store(&u)
		return
	}
	st.ClockOffset, st.ClockKnown = at.Sub(middle.Round(0)), true
	m.clock.offset.Store(int64(st.ClockOffset))
	m.clock.unknown.Store(nil)
}
