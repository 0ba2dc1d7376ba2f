package node

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
)

// Status is what a master reports about itself. Each part may be missing.
type Status struct {
	inspect.Server
	// Reported means that INFO was answered. Features that the answer lacks are absent on the
	// server.
	Reported bool
	// Master is the address of the master that a replica follows.
	Master string
	// Unseen lists the reads that were refused or failed.
	Unseen  []inspect.Unseen
	Clients Clients
	// Databases lists the databases that hold keys.
	Databases []inspect.Database
}

// ReadStatus asks a master about itself. Refused parts stay empty; an error means that the master
// did not answer.
func (m *Master) ReadStatus(ctx context.Context) (Status, error) {
	m.follow(ctx)
	var st Status
	var clock *redis.TimeCmd
	var ping *redis.StatusCmd
	var info *redis.StringCmd
	var start time.Time // when the request left; it may have waited for a slot
	err := m.pipelined(ctx, func(ctx context.Context, p redis.Pipeliner) {
		start = m.now()
		// While it loads data or has lost its master, a server refuses PING and all keys, but not
		// TIME and INFO.
		ping, clock = p.Ping(ctx), p.Time(ctx)
		info = p.Info(ctx) // the default sections
	})
	end := m.now()
	if err != nil {
		return st, err
	}
	st.Latency = end.Sub(start)
	st.readInfo(info.Val(), end)
	if mayBeUnready(info.Val()) {
		if err := m.readAny(ctx); err != nil {
			return st, err
		}
	}
	m.readWrites(&st, ping, info.Val())
	m.readClock(&st, clock, info.Val(), start.Add(st.Latency/2))
	st.ClockWithin = st.Latency / 2
	if info.Err() != nil {
		st.Unseen = append(st.Unseen, m.miss(inspect.AspectServer, info, rightFor(info, "")))
	}
	if err := m.readRole(ctx, &st); err != nil {
		return st, err
	}
	return st, m.readClients(ctx, &st, info.Val())
}

// readRole gets the role from HELLO if INFO lacks it, since HELLO needs no right.
func (m *Master) readRole(ctx context.Context, st *Status) error {
	if st.Role != "" {
		return nil
	}
	var hello *redis.Cmd
	err := m.pipelined(ctx, func(ctx context.Context, p redis.Pipeliner) {
		hello = p.Do(ctx, "hello", cmp.Or(m.options.Protocol, 3)) // the protocol of the handshake
	})
	if err != nil {
		return err
	}
	if st.readHello(hello); st.Role == "" {
		st.Unseen = append(st.Unseen, m.miss(inspect.AspectServer, hello, rightFor(hello, "")))
	}
	return nil
}

// readHello reads the server's fields from a HELLO reply, which is a flat list in RESP2.
func (st *Status) readHello(hello *redis.Cmd) {
	fields := map[any]any{}
	switch reply := hello.Val().(type) {
	case map[any]any:
		fields = reply
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			if name, ok := reply[i].(string); ok {
				fields[name] = reply[i+1]
			}
		}
	}
	role, _ := fields["role"].(string)
	mode, _ := fields["mode"].(string)
	version, _ := fields["version"].(string)
	st.Role, st.Cluster = roleName(role), st.Cluster || mode == "cluster"
	st.Version = cmp.Or(st.Version, versionOf(version))
}

// readInfo parses an INFO reply, whose text is untrusted.
func (st *Status) readInfo(info string, now time.Time) {
	st.Role = roleName(infoField(info, "role"))
	st.Cluster = cmp.Or(infoField(info, "redis_mode"), infoField(info, "server_mode")) == "cluster" // on Valkey
	if host := infoField(info, "master_host"); st.Role != roleMaster && host != "" {
		st.Master = net.JoinHostPort(host, infoField(info, "master_port"))
	}
	if up, ok := infoNumber(info, "uptime_in_seconds"); ok && up < 1e10 {
		st.StartedAt = now.Add(-time.Duration(up) * time.Second).Round(0)
	}
	st.RunID = runIDOf(info)
	st.Version = versionOf(cmp.Or(infoField(info, "valkey_version"), infoField(info, "redis_version")))
	st.Reported = info != ""
	st.MaxMemory, _ = infoNumber(info, "maxmemory")
	if policy := infoField(info, "maxmemory_policy"); len(policy) <= 32 && only(policy, "abcdefghijklmnopqrstuvwxyz-") {
		st.EvictionPolicy = policy
	}
	st.Persistence = persistence(info)
	if n, ok := infoNumber(info, "connected_slaves"); ok && n < 1e4 {
		st.Replicas = int(max(0, n))
	}
	_, st.NeedsReplicas = infoNumber(info, "min_slaves_good_slaves")
	st.Databases = databases(info)
}

// maxDatabases bounds the databases that are listed.
const maxDatabases = 16

// databases reads lines such as db1:keys=412,expires=0.
func databases(info string) (list []inspect.Database) {
	for line := range strings.Lines(info) {
		name, rest, ok := strings.Cut(line, ":keys=")
		number, isDB := strings.CutPrefix(name, "db")
		if !ok || !isDB || len(list) == maxDatabases {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimSpace(rest), ",")
		index, badIndex := strconv.ParseUint(number, 10, 31)
		keys, badKeys := strconv.ParseUint(count, 10, 31)
		if badIndex == nil && badKeys == nil {
			list = append(list, inspect.Database{Index: int(index), Keys: int(keys)})
		}
	}
	return list
}

// versionOf returns s if it looks like a version, else an empty string, since it is printed.
func versionOf(s string) string {
	if len(s) > 32 || !only(s, "0123456789.") {
		return ""
	}
	return s
}

// persistence reports only what INFO shows: whether there was a snapshot, but not the fsync
// policy or whether snapshots are configured.
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

// onlyBroken drops error replies, except those of a server that cannot be read.
func onlyBroken(err error) error {
	if faultOf(err) != serverFault {
		return nil
	}
	return err
}

// Role names of Redis servers, as we display them.
const (
	roleMaster  = "master"
	RoleReplica = "replica"
	// RoleActive is a KeyDB role: the server accepts writes and replicates those of other
	// servers.
	RoleActive = "active-replica"
)

// roleName accepts only known roles, since the name is printed.
func roleName(candidates ...string) string {
	for _, name := range candidates {
		switch name {
		case roleMaster, "sentinel", RoleActive:
			return name
		case "slave", RoleReplica:
			return RoleReplica
		}
	}
	return ""
}

// infoField returns a field of an INFO reply, or an empty string.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// infoNumber returns a field that is a non-negative number.
func infoNumber(info, name string) (int64, bool) {
	n, err := strconv.ParseInt(infoField(info, name), 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}
