package bench

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
)

// tree is a cluster's worth of locks: so many in each directory below /locks, with a contender of each client in each.
type tree struct{ directories, locks int }

// large is 20,000 locks.
var large = tree{directories: 20, locks: 1000}

// plant makes the tree's locks as Curator writes them, a hundred nodes a request, many requests on their way at a time.
func (t tree) plant(b testing.TB, clients ...*zk.Conn) {
	b.Helper()
	acl := zk.WorldACL(zk.PermAll)
	dirs := []any{&zk.CreateRequest{Path: "/locks", Acl: acl}}
	var locks []any
	contenders := make([][]any, len(clients))
	for d := range t.directories {
		dir := fmt.Sprintf("/locks/team-%02d", d)
		dirs = append(dirs, &zk.CreateRequest{Path: dir, Acl: acl})
		for l := range t.locks {
			lock := fmt.Sprintf("%s/job-%04d", dir, l)
			locks = append(locks, &zk.CreateRequest{Path: lock, Acl: acl})
			for c := range clients {
				name := fmt.Sprintf("%s/_c_%08x-0000-4000-8000-%012x-lock-", lock, d*t.locks+l, c)
				contenders[c] = append(contenders[c], &zk.CreateRequest{
					Path: name, Data: []byte("10.0.0.1"), Acl: acl, Flags: zk.FlagEphemeralSequential,
				})
			}
		}
	}
	inMultis(b, clients[0], dirs)
	inMultis(b, clients[0], locks)
	for c, client := range clients {
		inMultis(b, client, contenders[c])
	}
}

// inMultis sends changes, a hundred a request, several requests at a time.
func inMultis(b testing.TB, conn *zk.Conn, changes []any) {
	b.Helper()
	const most = 100
	batches := make([]string, (len(changes)+most-1)/most)
	pipelined(b, 4, batches, func(i int, _ string) error {
		_, err := conn.Multi(changes[i*most : min((i+1)*most, len(changes))]...)
		return err
	})
}
