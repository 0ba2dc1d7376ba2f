package act

import (
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// Curator's deprecated semaphore has the nodes of its mutex, and only the watches that were seen show the holders of permits: a
// release goes by what was on the screen.
func TestReleaseOfAPermitThatOnlyWatchesTell(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		if _, err := conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		var names []inspect.Untrusted
		for range 4 {
			made, err := conn.Create(dir+"/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, inspect.Untrusted(filepath.Base(made)))
		}
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		request := Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: names[2]}
		if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused != NotHolder {
			t.Errorf("by the nodes alone: %+v, %v", p, err)
		}
		seen, err := releaser.look(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		request.Lock = seen.lock()
		l := request.Lock
		l.Kind, l.Holders, l.Waiters = inspect.KindSemaphore, append(l.Holders, l.Waiters[:2]...), l.Waiters[2:]
		for i := range l.Holders {
			l.Holders[i].State, l.Holders[i].Watches = inspect.Holding, ""
		}
		l.Waiters[0].Watches = names[0]
		p, err := releaser.Preview(t.Context(), request)
		if err != nil || p.Refused != "" || p.Seen.State != inspect.Holding || p.Next != nil {
			t.Fatalf("of a permit whose end wakes nobody: %+v, %v", p, err)
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || !result.Released || len(result.HoldersAfter) != 2 {
			t.Errorf("%+v, %v", result, err)
		}
		request.Owner = names[0]
		if p, err = releaser.Preview(t.Context(), request); err != nil || p.Next == nil || p.Next.Name != names[3] {
			t.Errorf("of the one that is watched: %+v, %v", p, err)
		}
	})
}
