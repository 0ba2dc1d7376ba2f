package cli

import (
	"net"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// No command asks a server about a path that no znode can have.
func TestInvalidPathsAskNoServer(t *testing.T) {
	t.Parallel()
	server := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer server.Close()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if conn, err := server.Accept(); err == nil { // until the test ends
			conn.Close()
			t.Error("a server was asked")
		}
	}()
	target := "zk://" + server.Addr().String()
	for _, command := range []string{
		"show LOCK", "release LOCK --owner x --yes", "ttl LOCK --owner x --set 1m --yes", "ask LOCK --owner x --yes",
		"acquire LOCK --wait 0", "contend LOCK -n 2 --rounds 1", "bundle LOCK --for 1s --to " + t.TempDir() + "/b", "sweep LOCK --idle 24h --max 1",
	} {
		for _, lock := range []string{`zk:/h/x\u{1b}y`, "zk:/h//x", "zk:/h/x/", "zk:/h/../x", `zk:/h/\u{0}`, `zk:/\u{e000}`, "zk:h/x"} {
			args := append(strings.Fields(strings.Replace(command, "LOCK", lock, 1)), target)
			if got := run(t, args...); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "no such lock: the path is invalid: ") {
				t.Errorf("%q: %+v", args, got)
			}
		}
	}
	if got := run(t, "show", "zk:/h//x", target); !strings.Contains(got.stderr, "write zk:/h/x") {
		t.Errorf("%+v", got)
	}
	server.Close()
	<-asked
}
