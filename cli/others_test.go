package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
)

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// show finds the deadlock that doctor finds: it is told by the other locks only.
func TestShowFindsADeadlock(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		clients := make([]*zk.Conn, 2)
		for i := range clients {
			c, _, err := zk.Connect([]string{server.Addr}, 10*time.Second, zk.WithLogger(silentLogger{}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			clients[i] = c
		}
		create := func(client int, path string, flags int32) {
			if _, err := clients[client].Create(root+path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		const kazoo = "/e3b0c44298fc1c149afbf4c8996fb924__lock__"
		for _, dir := range []string{"", "/a", "/b", "/chain"} {
			create(0, dir, 0)
		}
		for _, join := range []struct {
			client int
			dir    string
		}{{0, "/a"}, {1, "/b"}, {1, "/a"}, {0, "/b"}, {0, "/chain"}, {1, "/chain"}} {
			create(join.client, join.dir+kazoo, zk.FlagEphemeral|zk.FlagSequence)
		}
		target := "zk://" + server.Addr + root
		rules := func(lock string) (rules []string) {
			got := run(t, "show", "zk:"+root+lock, target, "-o", "json")
			var l struct{ Findings []struct{ Rule string } }
			if err := json.Unmarshal([]byte(got.stdout), &l); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			for _, f := range l.Findings {
				rules = append(rules, f.Rule)
			}
			return rules
		}
		if got := rules("/a"); !slices.Contains(got, "deadlock") {
			t.Errorf("in a deadlock: %v", got)
		}
		if got := rules("/chain"); slices.Contains(got, "deadlock") {
			t.Errorf("in none: %v", got)
		}
		if got := run(t, "show", "zk:"+root+"/a", target); !strings.Contains(got.stdout, "deadlock over 2 locks") {
			t.Errorf("%s", got.stdout)
		}
	})
}
