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
	// denied are the commands that our user may not run.
	denied []string
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
	}
	st.deny("TIME", clock.Err())

	var role *redis.Cmd
	var server, replication *redis.StringCmd
	err = m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			role = p.Do(ctx, "role")
			server = p.Info(ctx, "server")
			replication = p.Info(ctx, "replication")
			return nil
		})
		return onlyBroken(err)
	})
	if err != nil {
		return st, err
	}
	st.role = roleName(firstWord(role), infoField(replication.Val(), "role"))
	if up, err := strconv.ParseInt(infoField(server.Val(), "uptime_in_seconds"), 10, 64); err == nil && up >= 0 && up < 1e10 {
		st.startedAt = time.Now().Add(-time.Duration(up) * time.Second).Round(0)
	}
	st.deny("ROLE", role.Err())
	st.deny("INFO", server.Err())
	return st, nil
}

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
