package node

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// readWrites records whether a master refuses writes. When its disk fails, Redis refuses PING as
// well as writes (processCommand in its server.c). A failed snapshot in INFO is not proof:
// without save points, or with stop-writes-on-bgsave-error off, writes continue, and INFO shows
// neither. If PING is not permitted, the answer is unknown. Since Redis 7, a replica whose own
// snapshot failed also refuses PING, but takes no client writes anyway.
func (m *Master) readWrites(st *Status, ping redis.Cmder, info string) {
	switch {
	case st.Role == RoleReplica:
	case redisreply.Starts(ping.Err(), "MISCONF") && strings.Contains(ping.Err().Error(), "AOF"):
		st.WritesRefused = inspect.RefusedForAOF
	case redisreply.Starts(ping.Err(), "MISCONF"):
		st.WritesRefused = inspect.RefusedForSave
	case st.Role != roleMaster:
	case infoField(info, "aof_enabled") == "1" && infoField(info, "aof_last_write_status") == "err":
		st.WritesRefused = inspect.RefusedForAOF
	case infoField(info, "min_slaves_good_slaves") == "0": // INFO has this field only if replicas are needed
		st.WritesRefused = inspect.RefusedForReplicas
	case full(info):
		st.WritesRefused = inspect.RefusedForMemory
	case ping.Err() != nil && infoField(info, "rdb_last_bgsave_status") == "err":
		u := m.miss(inspect.AspectServer, ping, rightFor(ping, ""))
		u.Reason = "its last snapshot failed, and only PING shows whether it therefore refuses writes: " + u.Reason
		st.Unseen = append(st.Unseen, u)
	}
}

// full reports whether a server exceeds maxmemory without evicting. Replica and append-only file
// buffers do not count (getMaxmemoryState in Redis' evict.c).
func full(info string) bool {
	limit, _ := infoNumber(info, "maxmemory")
	used, _ := infoNumber(info, "used_memory")
	apart, _ := infoNumber(info, "mem_not_counted_for_evict")
	return limit > 0 && used-apart > limit && infoField(info, "maxmemory_policy") == "noeviction"
}
