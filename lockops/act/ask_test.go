package act

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// A Curator holder that listens for revocation releases its lock when asked. Holders that do not
// listen are not written to.
func TestOnlyListeningHoldersAreAsked(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		a := startAsking(t, server)
		t.Run("listens", a.obliging)
		t.Run("does nothing", a.deaf)
		t.Run("does not listen", a.others)
	})
}

// asking is an operator asking holders of two libraries to release.
type asking struct {
	server       *servertest.ZooKeeper
	conn         *zk.Conn
	wire         *hooked
	releaser     *ZooKeeper
	root         string
	java, python *servertest.Peer
}

func startAsking(t *testing.T, server *servertest.ZooKeeper) *asking {
	conn := connectZooKeeper(t, server.Addr)
	wire := &hooked{ZKConn: conn, beforeRemoval: func() {}}
	return &asking{
		server, conn, wire, onEnsemble(t, wire, server.Addr), servertest.UniquePath(t),
		servertest.StartCurator(t, server.Addr), servertest.StartKazooLocks(t, server.Addr),
	}
}

func (a *asking) request(dir, owner string) Request {
	return Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(owner), Ask: true, Wait: time.Millisecond}
}

// node returns the name of the contender at a place in the queue; the holder is at 0.
func (a *asking) node(t *testing.T, dir string, at int) string {
	t.Helper()
	d := must.Have(a.releaser.look(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}}))(t)
	l := d.lock()
	if l == nil || l.Contention() <= at {
		t.Fatalf("%s: %+v", dir, l)
	}
	return append(l.Holders, l.Waiters...)[at].Name.Raw()
}

func (a *asking) perform(t *testing.T, r Request) (Preview, Result) {
	t.Helper()
	p := must.Have(a.releaser.Preview(t.Context(), r))(t)
	result := must.Have(a.releaser.Execute(t.Context(), p, "--yes"))(t)
	return p, result
}

func (a *asking) obliging(t *testing.T) {
	dir := a.root + "-obliging"
	a.java.Send(t, "obliging", "a", dir)
	a.java.Expect(t, "holds "+dir)
	a.java.Send(t, "mutex", "b", dir)
	obliging := a.request(dir, a.node(t, dir, 0))
	awaitNext(t, a.releaser, obliging)
	obliging.Wait = time.Minute
	if p, r := a.perform(t, obliging); !r.Asked || !r.LetGo || r.Reason != "" || p.Next == nil || !strings.Contains(strings.Join(p.Sends, ";"), "__REVOKE__") {
		t.Errorf("%+v, %+v", p, r)
	}
	a.java.Expect(t, "acquired mutex b "+dir)
	if lines := auditLines(t, a.releaser.audit.path); len(lines) != 2 || lines[1]["asked"] != true || lines[1]["let_go"] != true || lines[1]["action"] != "ask" {
		t.Errorf("audit: %v", lines)
	}
}

func (a *asking) deaf(t *testing.T) {
	dir := a.root + "-deaf"
	a.java.Send(t, "revocable", "c", dir)
	a.java.Expect(t, "acquired revocable c")
	a.java.Send(t, "mutex", "d", dir)
	deaf := a.request(dir, a.node(t, dir, 0))
	awaitNext(t, a.releaser, deaf)
	_, r := a.perform(t, deaf)
	must.True(t, r.Asked && !r.LetGo && r.Reason == Ignored && len(r.HoldersAfter) == 1, r)
	a.wire.beforeRemoval = func() {
		a.wire.beforeRemoval = func() {}
		_, err := a.conn.Set(dir+"/"+a.node(t, dir, 0), []byte{}, -1)
		must.Be(t, err, nil)
	}
	_, r = a.perform(t, deaf)
	must.True(t, !r.Asked && r.Reason == Changed, "written to meanwhile:", r)
	interrupted, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	cut := onEnsemble(t, &watchedZK{a.conn, func() error { interrupt(); return nil }}, a.server.Addr)
	deaf.Wait = time.Minute
	if p, err := cut.Preview(t.Context(), deaf); err != nil {
		t.Fatal(err)
	} else if r, err := cut.Execute(interrupted, p, "--yes"); err == nil || !r.Asked || !r.Unknown || r.LetGo || r.Reason != "" {
		t.Errorf("interrupted while watching: %+v, %v", r, err)
	}
}

func (a *asking) others(t *testing.T) {
	for kind, peer := range map[string]*servertest.Peer{"mutex": a.java, "latch": a.java, "lock": a.python} {
		dir := a.root + "-" + kind
		peer.Send(t, kind, "e", dir, "x")
		peer.Expect(t, "acquired "+kind)
		name := a.node(t, dir, 0)
		before, _, err := a.conn.Get(dir + "/" + name)
		must.Succeed(t, err)
		p, r := a.perform(t, a.request(dir, name))
		must.True(t, !r.Asked && r.Reason == Unsupported && p.Detail != "", kind, r)
		after, _, err := a.conn.Get(dir + "/" + name)
		must.True(t, err == nil && string(after) == string(before) && string(after) != recipe.CuratorRevoke,
			kind, "has the data", string(after), err)
	}
}

// watchedZK calls back when a watch is set on a node, which fails with its error.
type watchedZK struct {
	ZKConn
	begins func() error
}

func (w *watchedZK) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	if err := w.begins(); err != nil {
		return false, nil, nil, err
	}
	return w.ZKConn.ExistsW(path)
}

// If the lock cannot be read after the request, only its node shows whether the holder let go.
func TestAskedHolderMayHide(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := connectZooKeeper(t, server.Addr)
	for _, letsGo := range []bool{true, false} {
		dir := servertest.UniquePath(t)
		create(t, conn, dir, "", 0)
		node := create(t, conn, dir+"/_c_"+ownerA[:36]+"-lock-", "", sequential)
		create(t, conn, dir+"/_c_"+ownerB[:36]+"-lock-", "", sequential)
		ctx, interrupt := context.WithCancel(t.Context())
		z := onEnsemble(t, &watchedZK{conn, func() error {
			if !letsGo {
				interrupt()
				return nil
			}
			must.Be(t, conn.Delete(node, -1), nil)
			_, err := conn.SetACL(dir, zk.WorldACL(zk.PermAll&^zk.PermRead), -1)
			return err
		}}, server.Addr)
		request := ofNode(dir, path.Base(node))
		request.Ask, request.Wait = true, time.Minute
		if letsGo { // but not at first, when it cannot be watched
			blind := onEnsemble(t, &watchedZK{conn, func() error { return zk.ErrClosing }}, server.Addr)
			result := must.Have(perform(t, blind, request))(t)
			must.Equal(t, result.Detail, "it was asked, but still holds the lock; it could not be watched the whole time")
		}
		result, err := z.Execute(ctx, confirmed(t, z, request), "--yes")
		interrupt()
		must.True(t, errors.Is(err, ErrUnreachable) && result.Asked && result.LetGo == letsGo, result, err)
		unknown := result.Detail == "it was asked, but whether it released the lock is unknown"
		must.True(t, unknown != letsGo && result.Unknown != letsGo, "lets go", letsGo, result)
	}
}
