package act

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func TestReleaseFreesHolderAndNamesNext(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 3)
		releaser := onEnsemble(t, conn, server.Addr)
		path := releaser.audit.path
		p := confirmed(t, releaser, ofNode(dir, names[0]))
		if p.Next == nil || p.Next.Name.Raw() != names[1] || p.Next.State != inspect.Waiting || len(p.Sends) != 3 || len(p.Warnings) == 0 {
			t.Errorf("preview %+v", p)
		}
		if lines := auditLines(t, path); len(lines) != 0 {
			t.Errorf("a preview was audited: %v", lines)
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || !result.Released || len(result.HoldersAfter) != 1 || result.HoldersAfter[0].Name.Raw() != names[1] {
			t.Errorf("result %+v, %v", result, err)
		}
		if result.Next == nil || result.Next.Name.Raw() != names[1] || result.Next.State != inspect.Holding {
			t.Errorf("next %+v", result.Next)
		}
		lines := auditLines(t, path)
		if len(lines) != 2 || lines[0]["phase"] != "intent" || lines[1]["phase"] != "result" || lines[1]["released"] != true || lines[0]["confirmed"] != "typed" {
			t.Errorf("audit %v", lines)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("audit file mode %v, %v", info.Mode(), err)
		}
		// Executing the same preview again reports the contender gone and leaves the others alone.
		again, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || again.Released || again.Reason != Gone {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// A recreated directory can give a node the same number, at version 0. Only czxid and session
// differ.
func TestReleaseRefusesRecreatedNode(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 1)
		releaser := onEnsemble(t, conn, server.Addr)
		request := ofNode(dir, names[0])
		p := must.Have(releaser.Preview(t.Context(), request))(t)
		for _, path := range []string{dir + "/" + names[0], dir} {
			must.Succeed(t, conn.Delete(path, -1))
		}
		if again := zkQueue(t, conn, dir, 1); again[0] != names[0] {
			t.Fatalf("recreated as %s, want the same name", again[0])
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Reason != Changed || result.Released {
			t.Errorf("result %+v, %v", result, err)
		}
		if _, stat, err := conn.Get(dir + "/" + names[0]); err != nil || stat.Czxid == p.Seen.Czxid {
			t.Errorf("the new node was touched: %v", err)
		}
		// A preview of the node as seen before is refused too.
		old := *p.Seen
		request.Lock = &inspect.Lock{ID: request.ID, Holders: []inspect.Contender{old}}
		if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused != Changed {
			t.Errorf("preview %+v, %v", p, err)
		}
	})
}

func TestNoAuditNoAction(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 1)
		releaser := onEnsemble(t, conn, server.Addr)
		p := confirmed(t, releaser, ofNode(dir, names[0]))
		releaser.audit.Close()
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err == nil || result.Released || result.Reason != NoAudit {
			t.Errorf("result %+v, %v", result, err)
		}
		if ok, _, _ := conn.Exists(dir + "/" + names[0]); !ok {
			t.Error("the node was deleted without an audit line")
		}
	})
}

func TestReleaseChecksAndDeletesPerMaster(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		long := strings.Repeat("x", 3000)
		for _, value := range []string{"Y2NjY2NjY2NjY2NjY2NjYw==", "\xff\x00binary", long} {
			for _, c := range clients {
				must.Succeed(t, c.Set(t.Context(), key, value, time.Minute).Err())
			}
			releaser := onMasters(t, clients, addrs)
			request := ofKey(key, value)
			if len(value) > 1<<10 {
				request = ofKey(key, digest(value))
			}
			p := confirmed(t, releaser, request)
			must.Equal(t, len(p.Sends), 3, "requests in the preview")
			// The third master gets another holder between preview and release. That holder must
			// stay.
			must.Succeed(t, clients[2].Set(t.Context(), key, "other", time.Minute).Err())
			result, err := releaser.Execute(t.Context(), p, "--yes")
			if err != nil || !result.Released || !result.Masters[0].Deleted || !result.Masters[1].Deleted || result.Masters[2].Deleted {
				t.Errorf("result %+v, %v", result, err)
			}
			must.Equal(t, clients[2].Get(t.Context(), key).Val(), "other", "value on the third master")
			text, _ := os.ReadFile(releaser.audit.path)
			must.True(t, !strings.Contains(string(text), "Y2Nj"), "the audit file contains a holder's secret value:", text)
			if p, err = releaser.Preview(t.Context(), request); err != nil || p.Refused != Changed {
				t.Errorf("stale owner: %+v, %v", p, err)
			}
			clients[2].Del(t.Context(), key)
			if p, err = releaser.Preview(t.Context(), request); err != nil || p.Refused != Gone {
				t.Errorf("gone owner: %+v, %v", p, err)
			}
		}
	})
}

func TestReleaseFailsWithoutQuorum(t *testing.T) {
	t.Parallel()
	servers := servertest.StartEmbeddedMasters(t, 3)
	clients, addrs := redisMastersOf(t, servers)
	for _, c := range clients {
		c.Set(t.Context(), "lock:a", "v", 0)
	}
	releaser := onMasters(t, clients, addrs)
	p := confirmed(t, releaser, ofKey("lock:a", "v"))
	servers[1].Stop(t)
	servers[2].Stop(t)
	result, err := releaser.Execute(t.Context(), p, "typed")
	if err == nil || result.Released || result.Reason != NoQuorum || result.Masters[0].Deleted || result.Masters[1].Err == nil {
		t.Errorf("result %+v, %v", result, err)
	}
	if n := clients[0].Exists(t.Context(), "lock:a").Val(); n != 1 {
		t.Error("deleted, although the holder is unknown")
	}
}

func TestReleaseLeavesOtherKeyTypes(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		clients[0].HSet(t.Context(), key, "field", "v")
		p, err := onMasters(t, clients, addrs).Preview(t.Context(), ofKey(key, "v"))
		if err != nil || p.Refused == "" {
			t.Errorf("preview %+v, %v", p, err)
		}
		must.Equal(t, clients[0].Exists(t.Context(), key).Val(), 1, "keys left")
	})
}

// Of many concurrent releases of one holder, exactly one succeeds.
func TestConcurrentReleasesSucceedOnce(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 9)
		releaser := onEnsemble(t, conn, server.Addr)
		p := confirmed(t, releaser, ofNode(dir, names[0]))
		results := make(chan Result, 8)
		for range cap(results) {
			go func() {
				r, err := releaser.Execute(t.Context(), p, "typed")
				must.Be(t, err, nil)
				results <- r
			}()
		}
		released := 0
		for range cap(results) {
			if r := <-results; r.Released {
				released++
			} else if r.Reason != Gone {
				t.Errorf("refused as %q, want gone", r.Reason)
			}
		}
		children, _, err := conn.Children(dir)
		if err != nil || released != 1 || len(children) != 8 {
			t.Errorf("%d releases succeeded, %d of 9 contenders are left, %v", released, len(children), err)
		}
	})
}

func TestReleaseFreesPermitsAndLoneNodes(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, other := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		const protected = "/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-"
		for _, p := range []string{"", "/leases", "/locks"} {
			create(t, conn, dir+p, "", 0)
		}
		held := filepath.Base(create(t, conn, dir+"/leases"+protected+"lease-", "", sequential))
		create(t, other, dir+"/locks"+protected+"lock-", "", sequential)
		pending := filepath.Base(create(t, other, dir+"/leases"+protected+"lease-", "", sequential))
		releaser := onEnsemble(t, conn, server.Addr)
		release := func(path, owner string) (Preview, Result) {
			t.Helper()
			p := confirmed(t, releaser, ofNode(path, owner))
			return p, must.Have(releaser.Execute(t.Context(), p, "typed"))(t)
		}
		p, result := release(dir, held)
		if !result.Released || p.Seen.Place != "leases" || p.Next == nil || p.Next.Name.Raw() != pending {
			t.Errorf("permit: preview %+v, result %+v", p, result)
		}
		create(t, conn, dir+"/leader", "", zk.FlagEphemeral)
		if _, result = release(dir+"/leader", "leader"); !result.Released || len(result.HoldersAfter) != 0 {
			t.Errorf("lone node: %+v", result)
		}
		if exists, _, _ := conn.Exists(dir + "/leader"); exists {
			t.Error("the node still exists")
		}
	})
}
