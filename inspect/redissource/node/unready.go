package node

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// mayBeUnready reports whether a server may refuse all keys although it answers PING. It is loading,
// has lost its master (INFO does not report replica-serve-stale-data), or reports nothing. Redis
// before 7 answers PING while its master is lost, and proxies answer it themselves.
func mayBeUnready(info string) bool {
	switch {
	case infoField(info, "role") == "", infoField(info, "loading") == "1":
		return true
	case roleName(infoField(info, "role")) == RoleReplica:
		return infoField(info, "master_link_status") != "up"
	}
	return false
}

// readAny reads any key, and returns the error of a server that refuses all of them. An account
// without the right learns nothing.
func (m *Master) readAny(ctx context.Context) error {
	return m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		return onlyBroken(c.Scan(ctx, 0, "", 1).Err())
	})
}
