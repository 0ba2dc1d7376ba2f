package lockops_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// plain returns a separate client, as another program would use.
func plain(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	return servertest.ConnectZooKeeper(t, addr, 30*time.Second)
}

// children lists a directory, sorted by name. It returns nothing if the directory does not exist.
func children(t testing.TB, server *servertest.ZooKeeper, path string) []string {
	t.Helper()
	conn, events, err := zk.Connect([]string{server.Addr}, 30*time.Second, zk.WithLogger(quiet{}))
	must.Succeed(t, err)
	defer func() { // closed at once: tests poll
		conn.Close()
		for range events {
		}
	}()
	names, _, err := conn.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// emptied waits until a directory has no children, since a cancelled Acquire cleans up in the
// background.
func emptied(t testing.TB, look *zk.Conn, path string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		names, _, changed, err := look.ChildrenW(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return // an empty container is removed by the server
		case err != nil:
			t.Fatal(err)
		}
		if len(names) == 0 {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("left in %s: %q", path, names)
		}
	}
}

// watches calls f with every watched path and the session that watches it, as the server writes it.
func watches(t testing.TB, server *servertest.ZooKeeper, f func(path, session string)) {
	t.Helper()
	conn := must.Have(net.Dial("tcp", server.Addr))(t)
	defer conn.Close()
	must.Have(io.WriteString(conn, "wchp"))(t)
	answer := must.Have(io.ReadAll(conn))(t)
	path := ""
	for line := range strings.Lines(string(answer)) {
		line = strings.TrimSuffix(line, "\n")
		if session, ok := strings.CutPrefix(line, "\t"); ok {
			f(path, session)
		} else {
			path = line
		}
	}
}

// watchedBy returns the paths that a session watches.
func watchedBy(t testing.TB, server *servertest.ZooKeeper, s *lockops.ZKSession) (paths []string) {
	t.Helper()
	return watchedBySession(t, server, s.Conn().SessionID())
}

func watchedBySession(t testing.TB, server *servertest.ZooKeeper, id int64) (paths []string) {
	t.Helper()
	own := fmt.Sprintf("0x%x", uint64(id))
	watches(t, server, func(path, session string) {
		if session == own {
			paths = append(paths, path)
		}
	})
	return paths
}

// watchedByOthers reports whether a session other than s watches a path.
func watchedByOthers(t testing.TB, server *servertest.ZooKeeper, s *lockops.ZKSession, path string) (watched bool) {
	t.Helper()
	own := fmt.Sprintf("0x%x", uint64(s.Conn().SessionID()))
	watches(t, server, func(p, session string) { watched = watched || p == path && session != own })
	return watched
}

func mutexOn(s *lockops.ZKSession, path string, opts ...lockops.Option) maker {
	return func(more ...lockops.Option) lockops.Locker {
		return lockops.NewZKMutex(s, path, append(more, opts...)...)
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func becomeEmpty(t testing.TB, server *servertest.ZooKeeper, dir string) {
	t.Helper()
	must.Become(t, dir+" is empty", func() bool { return len(children(t, server, dir)) == 0 })
}
