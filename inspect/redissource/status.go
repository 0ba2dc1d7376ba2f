package redissource

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// status is what a master says of itself. Each part may be missing.
type status struct {
	latency time.Duration
	role    string
	// offset is the server's clock minus ours.
	offset      time.Duration
	offsetKnown bool
	startedAt   time.Time
	runID       string
	version     string
	maxMemory   int64

	evictionPolicy, persistence string
	// denied are the commands that our user may not run.
	denied  []string
	clients clients
}

// readStatus asks a master about itself. Parts that it will not tell stay empty; an error means that it did not answer.
func (m *master) readStatus(ctx context.Context) (status, error) {
	var st status
	var clock *redis.TimeCmd
	start := time.Now()
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		clock = c.Time(ctx)
		return onlyBroken(clock.Err())
	})
	if err != nil {
		return st, err
	}
	st.latency = time.Since(start)
	if at, err := clock.Result(); err == nil {
		st.offset, st.offsetKnown = at.Sub(start.Add(st.latency/2)), true
		m.offset.Store(int64(st.offset))
	}
	st.deny("TIME", clock.Err())
	if m.isCluster() {
		return st, nil // what one node of many says of itself is not true of the others
	}
	var info *redis.StringCmd
	err = m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		info = c.Info(ctx) // one request for all sections
		return onlyBroken(info.Err())
	})
	if err != nil {
		return st, err
	}
	st.deny("INFO", info.Err())
	st.readInfo(info.Val(), time.Now())
	st.clients = m.readClients(ctx, info.Val())
	if st.role != "" {
		return st, nil
	}
	var role *redis.Cmd
	err = m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		role = c.Do(ctx, "role")
		return onlyBroken(role.Err())
	})
	if err != nil {
		return st, err
	}
	st.role = roleName(firstWord(role))
	st.deny("ROLE", role.Err())
	return st, nil
}

// readInfo takes what INFO says; its text is not trusted.
func (st *status) readInfo(info string, now time.Time) {
	st.role = roleName(infoField(info, "role"))
	if up, ok := infoNumber(info, "uptime_in_seconds"); ok && up < 1e10 {
		st.startedAt = now.Add(-time.Duration(up) * time.Second).Round(0)
	}
	if id := infoField(info, "run_id"); len(id) <= 64 && only(id, "0123456789abcdef") {
		st.runID = id
	}
	if v := infoField(info, "redis_version"); len(v) <= 32 && only(v, "0123456789.") {
		st.version = v
	}
	st.maxMemory, _ = infoNumber(info, "maxmemory")
	if policy := infoField(info, "maxmemory_policy"); len(policy) <= 32 && only(policy, "abcdefghijklmnopqrstuvwxyz-") {
		st.evictionPolicy = policy
	}
	st.persistence = persistence(info)
}

// persistence says what INFO can tell: neither the fsync policy nor whether snapshots are configured, only whether
// there was one.
func persistence(info string) string {
	if infoField(info, "aof_enabled") == "1" {
		return "aof"
	}
	saves, _ := infoNumber(info, "rdb_saves")
	if seconds, ok := infoNumber(info, "rdb_last_bgsave_time_sec"); ok && seconds >= 0 || saves > 0 {
		return "rdb"
	}
	return ""
}

func only(s, allowed string) bool { return strings.Trim(s, allowed) == "" }

// onlyBroken drops errors that the server replied, but for those that mean that it will answer nothing.
func onlyBroken(err error) error {
	if isReply(err) && !replyStarts(err, "NOAUTH", "WRONGPASS", "LOADING", "MASTERDOWN") {
		return nil
	}
	return err
}

func (st *status) deny(command string, err error) {
	if isDenied(err) {
		st.denied = append(st.denied, command)
	}
}

// firstWord is the first element of ROLE's reply.
func firstWord(role *redis.Cmd) string {
	list, err := role.Slice()
	if err != nil || len(list) == 0 {
		return ""
	}
	s, _ := list[0].(string)
	return s
}

// roleName accepts the roles there are: the name is printed.
func roleName(candidates ...string) string {
	for _, name := range candidates {
		switch name {
		case "master", "sentinel":
			return name
		case "slave", "replica":
			return "replica"
		}
	}
	return ""
}

// infoField finds a field in INFO's text; empty when it is not there.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// infoNumber is a field that is a number and not negative.
func infoNumber(info, name string) (int64, bool) {
	n, err := strconv.ParseInt(infoField(info, name), 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}
