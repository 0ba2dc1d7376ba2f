package finding

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// No rule reports contenders known only by name, whatever the tables say about others.
func TestUnreadContendersFireNoRule(t *testing.T) {
	t.Parallel()
	const guid = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	for _, pattern := range []string{
		"_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lock-%010d", guid + "__lock__%010d", guid + "__rlock__%010d",
		"_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-__READ__%010d", "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-__WRIT__%010d",
		"_c_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718-lock-%010d",
	} {
		nodes := make([]inspect.Znode, 12)
		for i := range nodes {
			nodes[i].Name = fmt.Sprintf(pattern, i)
		}
		id := inspect.ID{Backend: "zk", Path: "/l"}
		l, _ := inspect.Directory{Children: nodes}.Lock(id, now.Add(-time.Minute))
		must.Equal(t, l.Contention(), len(nodes), pattern)
		c := present(l, seen(&inspect.History{Since: now.Add(-5 * time.Minute)}), func(c *inspect.Case) {
			c.Sessions = map[int64]inspect.Session{7: {ID: 7, Timeout: time.Second, LastContact: now.Add(-time.Hour)}}
			c.AllSessions, c.SessionsAt = true, now
			c.Watches = &inspect.WatchTable{Backend: "zk", ReadAt: now, Sessions: map[string][]int64{}}
		})
		for _, r := range Rules() {
			must.Equal(t, len(of(&r, &c)), 0, pattern, r.Name)
		}
	}
}
