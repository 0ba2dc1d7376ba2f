package node

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/redisreply"
)

// clockReply is the question for a server's clock: TIME, or INFO where that is refused. by is the one whose
// refusal is shown.
type clockReply struct {
	by   *redis.TimeCmd
	info *redis.StringCmd // nil while TIME is not refused, or INFO is known not to tell either
}

func (t clockReply) text() string {
	if t.info == nil {
		return ""
	}
	return t.info.Val()
}

// scored reports whether what is missing of a key holds instants of the server's clock, or with main the key
// itself. They are read together with that clock: it may have stepped since anything else was read.
func (r *keyReading) scored(main bool) bool {
	return main && r.shape.kind == recipe.TypeZSet || slices.ContainsFunc(r.missing, func(q recipe.Query) bool {
		return q.Type == recipe.TypeZSet || strings.HasPrefix(q.Key, recipe.AlivePrefix)
	})
}

// silent reports whether INFO does not tell the clock: it is refused, or of a server before Redis 6.2.
func (t clockReply) silent() bool {
	if t.info == nil || t.info.Err() != nil {
		return t.info != nil && (redisreply.Denied(t.info.Err()) || redisreply.UnknownCommand(t.info.Err()))
	}
	_, reported := infoNumber(t.info.Val(), "server_time_usec")
	return !reported
}

// requestClock asks for the clock; not by TIME where the server refused that the last time, which it would
// log, and by nothing where neither told it: who asks for the status asks for both again.
func (m *Master) requestClock(ctx context.Context, p redis.Pipeliner) clockReply {
	refusal := m.noTime.Load()
	if refusal == nil {
		return clockReply{by: p.Time(ctx)}
	}
	if m.noClock.Load() {
		return clockReply{by: refusal}
	}
	return clockReply{by: refusal, info: p.Info(ctx, "server")}
}

// rereadClock asks a cluster's node itself: what reads keys goes to any. One that does not tell has an unknown clock.
func (m *Master) rereadClock(ctx context.Context) {
	var t clockReply
	var start, end time.Time
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		start = m.now()
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			t = m.requestClock(ctx, p)
			return nil
		})
		end = m.now()
		return serverError(err, cmds)
	})
	if err != nil {
		t = clockReply{by: redis.NewTimeCmd(ctx, "time")}
		t.by.SetErr(err)
	}
	m.readClock(new(Status), t, start.Add(end.Sub(start)/2))
}

// readClock takes the server's clock from TIME, or where that may not be asked, from INFO (since Redis 6.2).
func (m *Master) readClock(st *Status, asked clockReply, middle time.Time) {
	clock := asked.by
	at, err := clock.Result()
	if redisreply.Denied(err) || redisreply.UnknownCommand(err) {
		m.noTime.Store(clock)
	} else {
		m.noTime.Store(nil)
	}
	if asked.info != nil {
		m.noClock.Store(asked.silent())
	}
	if us, ok := infoNumber(asked.text(), "server_time_usec"); err != nil && ok {
		at, err = time.UnixMicro(us), nil
	}
	if err != nil {
		u := m.miss(inspect.AspectServer, clock, rightFor(clock, ""))
		st.Unseen = append(st.Unseen, u)
		m.clock.Store(&u)
		return
	}
	st.Offset, st.OffsetKnown = at.Sub(middle.Round(0)), true
	m.offset.Store(int64(st.Offset))
	m.clock.Store(nil)
}
