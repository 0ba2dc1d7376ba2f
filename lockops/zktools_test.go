package lockops_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// plain is a client of its own that looks at what a test left on the server.
func plain(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}

// children lists a directory, in order of names; empty when there is none.
func children(t testing.TB, server *servertest.ZooKeeper, path string) []string {
	t.Helper()
	names, _, err := plain(t, server.Addr).Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
