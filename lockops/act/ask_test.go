package act

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
)

// TestAHolderIsAsked: a holder of Curator's that listens lets go and the next one gets the lock; one that does nothing keeps it;
// one that does not listen, and whatever knows no such request, is not written to.
func TestAHolderIsAsked(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		audit, path := openAudit(t)
		wire := &hooked{ZKConn: conn, beforeRemoval: func() {}}
		releaser := NewZooKeeper(wire, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(releaser.Close)
		java, python := servertest.StartCurator(t, server.Addr), servertest.StartKazooLocks(t, server.Addr)
		root := servertest.UniquePath(t)
		request := func(dir, owner string) Request {
			return Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(owner), Ask: true, Wait: time.Millisecond}
		}
		node := func(dir string, at int) string {
			t.Helper()
			d, err := releaser.look(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}})
			if err != nil {
				t.Fatal(err)
			}
			l := d.lock()
			if l == nil || l.Contention() <= at {
				t.Fatalf("%s: %+v", dir, l)
			}
			return append(l.Holders, l.Waiters...)[at].Name.Raw()
		}
		perform := func(r Request) (Preview, Result) {
			t.Helper()
			p, err := releaser.Preview(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			result, err := releaser.Execute(t.Context(), p, "--yes")
			if err != nil {
				t.Fatal(err)
			}
			return p, result
		}

		dir := root + "-obliging"
		java.Send(t, "obliging", "a", dir)
		java.Expect(t, "holds "+dir)
		java.Send(t, "mutex", "b", dir)
		obliging := request(dir, node(dir, 0))
		awaitNext(t, releaser, obliging)
		obliging.Wait = time.Minute
		if p, r := perform(obliging); !r.Asked || !r.LetGo || r.Reason != "" || p.Next == nil || !strings.Contains(strings.Join(p.Sends, ";"), "__REVOKE__") {
			t.Errorf("who listens: %+v, %+v", p, r)
		}
		java.Expect(t, "acquired mutex b "+dir)
		if lines := auditLines(t, path); len(lines) != 2 || lines[1]["asked"] != true || lines[1]["let_go"] != true || lines[1]["action"] != "ask" {
			t.Errorf("audit: %v", lines)
		}

		dir = root + "-deaf"
		java.Send(t, "revocable", "c", dir)
		java.Expect(t, "acquired revocable c")
		java.Send(t, "mutex", "d", dir)
		deaf := request(dir, node(dir, 0))
		awaitNext(t, releaser, deaf)
		if _, r := perform(deaf); !r.Asked || r.LetGo || r.Reason != Ignored || len(r.HoldersAfter) != 1 {
			t.Errorf("who listens and does nothing: %+v", r)
		}
		if p, r := perform(deaf); !r.Asked || r.Reason != Ignored || !strings.Contains(strings.Join(p.Warnings, ";"), "asked before") {
			t.Errorf("asked again: %+v, %+v", p, r)
		}
		if p, _ := perform(request(dir, node(dir, 1))); p.Refused != NotHolder {
			t.Errorf("a waiter: %+v", p)
		}
		wire.beforeRemoval = func() {
			wire.beforeRemoval = func() {}
			if _, err := conn.Set(dir+"/"+node(dir, 0), []byte{}, -1); err != nil {
				t.Error(err)
			}
		}
		if _, r := perform(deaf); r.Asked || r.Reason != Changed {
			t.Errorf("written to meanwhile: %+v", r)
		}
		if _, r := perform(request(dir, "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lock-0000000009")); r.Reason != Gone {
			t.Errorf("nobody of that name: %+v", r)
		}

		interrupted, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		cut := NewZooKeeper(&watchedZK{conn, interrupt}, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		defer cut.Close()
		long := deaf
		long.Wait = time.Minute
		if p, err := cut.Preview(t.Context(), long); err != nil {
			t.Fatal(err)
		} else if r, err := cut.Execute(interrupted, p, "--yes"); err == nil || !r.Asked || !r.Unknown || r.LetGo || r.Reason != "" {
			t.Errorf("interrupted while it is watched: %+v, %v", r, err)
		}

		for kind, peer := range map[string]*servertest.Peer{"mutex": java, "latch": java, "lock": python} {
			dir := root + "-" + kind
			peer.Send(t, kind, "e", dir, "x")
			peer.Expect(t, "acquired "+kind)
			name := node(dir, 0)
			before, _, err := conn.Get(dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if p, r := perform(request(dir, name)); r.Asked || r.Reason != Unsupported || p.Detail == "" {
				t.Errorf("%s: %+v", kind, r)
			}
			if after, _, err := conn.Get(dir + "/" + name); err != nil || string(after) != string(before) || string(after) == recipe.CuratorRevoke {
				t.Errorf("%s: its data is %q, %v", kind, after, err)
			}
		}
	})
}

// watchedZK calls back when a node begins to be watched.
type watchedZK struct {
	ZKConn
	begins func()
}

func (w *watchedZK) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	w.begins()
	return w.ZKConn.ExistsW(path)
}
