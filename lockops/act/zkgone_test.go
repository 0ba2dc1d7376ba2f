package act

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// cutOff is a connection that is lost with each delete, before that is sent.
type cutOff struct {
	*zk.Conn
	meanwhile func()
}

func (u cutOff) Delete(string, int32) error {
	u.meanwhile()
	return zk.ErrConnectionClosed
}

// A node that stands, and is no contender any more because of one that came to stand with it, is not gone: neither before a release, nor
// between its preview and its delete, nor after a delete that was not answered.
func TestANodeThatStandsIsNotGone(t *testing.T) {
	server := servertest.StartZooKeeper(t)
	conn := connectZooKeeper(t, server.Addr)
	audit, _ := openAudit(t)
	target := Target{Name: "zk", Servers: []string{server.Addr}}
	releaser := NewZooKeeper(conn, target, audit)
	t.Cleanup(releaser.Close)
	create := func(node string, flags int32) string {
		t.Helper()
		made, err := conn.Create(node, []byte("host:1234"), flags, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, made := range map[string]func(dir string) (lock, node string, sibling func()){
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
		t.Run(name, func(t *testing.T) {
			for _, when := range []string{"before its preview", "before its delete", "during its delete", "gone"} {
				dir := servertest.UniquePath(t)
				create(dir, 0)
				lock, node, sibling := made(dir)
				r := Request{ID: inspect.ID{Backend: "zk", Path: lock}, Owner: inspect.Untrusted(node[strings.LastIndex(node, "/")+1:])}
				preview := func(z *ZooKeeper, want Reason) Preview {
					t.Helper()
					p, err := z.Preview(t.Context(), r)
					if err != nil || p.Refused != want || (want == Changed) != (p.Detail != "") {
						t.Errorf("%s: preview %q (%s), %v; want %q", when, p.Refused, p.Detail, err, want)
					}
					return p
				}
				remove := func() {
					t.Helper()
					if err := conn.Delete(node, -1); err != nil {
						t.Errorf("%s: it does not stand: %v", when, err)
					}
				}
				switch when {
				case "before its preview":
					sibling()
					preview(releaser, Changed)
					remove()
				case "before its delete":
					p := preview(releaser, "")
					sibling()
					if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Reason != Changed || result.Detail == "" || result.Released {
						t.Errorf("%s: %+v, %v", when, result, err)
					}
					remove()
				case "during its delete":
					lost := NewZooKeeper(cutOff{conn, sibling}, target, audit)
					defer lost.Close()
					if result, err := lost.Execute(t.Context(), preview(lost, ""), "typed"); err == nil || !result.Unknown || result.Released {
						t.Errorf("%s: %+v, %v", when, result, err)
					}
					remove()
				case "gone":
					remove()
					preview(releaser, Gone)
					continue // nothing came to stand with it
				}
				children, _, err := conn.Children("/")
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range children { // what is left at the root would stand with the next
					if strings.HasSuffix(c, "-other") {
						if err := conn.Delete("/"+c, -1); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}
