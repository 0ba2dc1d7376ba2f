package node

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// readWrites records whether a master refuses writes. Redis refuses PING, too, while it does so for its disk
// (processCommand in its server.c): that a snapshot failed, which INFO has, is not a reason where no save points
// are set or stop-writes-on-bgsave-error is off, which INFO does not have. Where PING may not be sent, it is
// unknown. A replica whose own snapshot failed refuses PING as well (since Redis 7), and takes no client's
// writes anyhow.
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
	case infoField(info, "min_slaves_good_slaves") == "0": // INFO has it only where some are needed, and not how many
		st.WritesRefused = inspect.RefusedForReplicas
	case full(info):
		st.WritesRefused = inspect.RefusedForMemory
	case ping.Err() != nil && infoField(info, "rdb_last_bgsave_status") == "err":
		u := m.miss(inspect.AspectServer, ping, rightFor(ping, ""))
		u.Reason = "its last snapshot failed, and only PING shows whether it therefore refuses writes: " + u.Reason
		st.Unseen = append(st.Unseen, u)
	}
}

// full reports whether a server is over its maxmemory and evicts nothing. Buffers of replicas and of the
// append-only file do not count (getMaxmemoryState in Redis' evict.c).
func full(info string) bool {
	limit, _ := infoNumber(info, "maxmemory")
	used, _ := infoNumber(info, "used_memory")
	apart, _ := infoNumber(info, "mem_not_counted_for_evict")
	return limit > 0 && used-apart > limit && infoField(info, "maxmemory_policy") == "noeviction"
}
