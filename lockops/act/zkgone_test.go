package act

import (
	"errors"
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// cutOff is a connection that is lost before each delete is sent, or before its reply if meanwhile
// deletes the node.
type cutOff struct {
	*zk.Conn
	meanwhile func()
}

func (u cutOff) Delete(string, int32) error {
	u.meanwhile()
	return zk.ErrConnectionClosed
}

// encounter is a node that is the only contender of a lock until a sibling appears.
type encounter struct {
	*testing.T
	conn     *zk.Conn
	releaser func(ZKConn) *ZooKeeper
	request  Request
	node     string
	sibling  func()
}

func (e *encounter) preview(z *ZooKeeper, want Reason) Preview {
	e.Helper()
	p, err := z.Preview(e.Context(), e.request)
	if err != nil || p.Refused != want || (want == Changed) != (p.Detail != "") {
		e.Errorf("preview %q (%s), %v; want %q", p.Refused, p.Detail, err, want)
	}
	return p
}

func (e *encounter) remove() {
	e.Helper()
	if err := e.conn.Delete(e.node, -1); err != nil {
		e.Errorf("the node is missing: %v", err)
	}
}

// deleteCutOff executes a delete whose connection is lost before it is sent.
func (e *encounter) deleteCutOff(meanwhile func()) (Result, error) {
	lost := e.releaser(cutOff{e.conn, meanwhile})
	defer lost.Close()
	return lost.Execute(e.Context(), e.preview(lost, ""), "typed")
}

var encounters = map[string]func(*encounter){
	"before its preview": func(e *encounter) {
		e.sibling()
		e.preview(e.releaser(e.conn), Changed)
		e.remove()
	},
	"before its delete": func(e *encounter) {
		z := e.releaser(e.conn)
		p := e.preview(z, "")
		e.sibling()
		if result, err := z.Execute(e.Context(), p, "typed"); err != nil || result.Reason != Changed || result.Detail == "" || result.Released {
			e.Errorf("%+v, %v", result, err)
		}
		e.remove()
	},
	"during its delete": func(e *encounter) {
		if result, err := e.deleteCutOff(e.sibling); err == nil || !result.Unknown || result.Released || result.Detail != "" {
			e.Errorf("%+v, %v", result, err)
		}
		e.remove()
	},
	"recreated during its delete": func(e *encounter) {
		for _, after := range []func(){func() {}, e.sibling} {
			result, err := e.deleteCutOff(func() {
				e.remove()
				create(e.T, e.conn, e.node, "host:1234", zk.FlagEphemeral)
				after()
			})
			must.True(e, err != nil && result.Unknown && !result.Released, result, err)
			must.Equal(e, result.Detail, EndedSomehow.Words())
		}
		e.remove()
	},
	"gone": func(e *encounter) {
		e.remove()
		e.preview(e.releaser(e.conn), Gone)
	},
}

// A node that stops being a contender because of a new sibling is not gone. Neither the preview,
// the release, nor a lost reply reports it gone.
func TestExistingNodeIsNotReportedGone(t *testing.T) {
	t.Parallel()
	eachOwnZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		releaser := func(c ZKConn) *ZooKeeper { return onEnsemble(t, c, server.Addr) }
		create := func(node string, flags int32) string { return create(t, conn, node, "host:1234", flags) }
		remove := func(node string) {
			if err := conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Fatal(err)
			}
		}
		for kind, made := range map[string]func(dir string) (lock, node string, sibling func()){
			"one ephemeral node alone": func(dir string) (string, string, func()) {
				node := create(dir+"/leader", zk.FlagEphemeral)
				return node, node, func() { create(dir+"/other", zk.FlagEphemeral) }
			},
			"at the root": func(dir string) (string, string, func()) {
				node := create(dir+"-leader", zk.FlagEphemeral)
				return node, node, func() { create(dir+"-other", zk.FlagEphemeral) }
			},
			"in a queue": func(dir string) (string, string, func()) {
				return dir, create(dir+"/job-", zk.FlagEphemeral|zk.FlagSequence), func() { create(dir+"/job-0000008080", zk.FlagEphemeral) }
			},
		} {
			for when, meet := range encounters {
				t.Run(kind+" "+when, func(t *testing.T) {
					dir := servertest.UniquePath(t)
					create(dir, 0)
					lock, node, sibling := made(dir)
					meet(&encounter{t, conn, releaser, ofNode(lock, path.Base(node)), node, sibling})
					remove(dir + "-other") // a leftover at the root would be a sibling in later cases
				})
			}
		}
	})
}
