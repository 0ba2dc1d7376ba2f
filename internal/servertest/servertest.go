// Package servertest gives tests the servers they need: ZooKeeper and Redis, embedded in the test process and real.
//
// A test of behaviour runs against both kinds, in subtests "embedded" and "real", through
// EachZooKeeper and EachRedis. These share one set of servers for the whole test process, so use
// UniqueName or UniquePath and do not break them. A test of a fault starts a separate server with
// StartZooKeeper or StartRedis and may stop, kill, pause and restart it.
//
// Real servers are ZooKeeper's jars as Debian packages them and redis-server from PATH.
// LOCKSCOPE_REAL decides whether tests use them:
//
//	(unset)    embedded servers only; tests of real ones are skipped
//	installed  tests of servers that are not installed are skipped
//	require    tests of servers that are not installed fail
//
// Real servers listen on free loopback ports and keep their files in a temporary directory. They never
// outlive the test process (on Linux not even when it is killed).
package servertest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops every server that was started for them, looks for goroutines left behind, and
// exits. Use it in TestMain:
//
//	func TestMain(m *testing.M) { servertest.Main(m) }
//
// The options are for the search for goroutines.
func Main(m *testing.M, opts ...goleak.Option) {
	goleak.VerifyTestMain(stopAfter{m}, opts...)
}

type stopAfter struct{ m *testing.M }

func (s stopAfter) Run() int {
	code := s.m.Run()
	shared.stop()
	return code
}

// shared holds the servers that the tests of one process share. It is the only package-level state
// here. The servers live as long as the process, and only Main knows when it ends.
var shared sharedServers

type sharedServers struct {
	zkEmbedded, zkReal       pool[*ZooKeeper]
	redisEmbedded, redisReal pool[*Redis]

	mu      sync.Mutex // guards the rest
	dir     string
	classes string // of Locks.java, in dir
}

// Dir returns a directory shared by all tests of the process, such as for a compiled program. Main
// removes it.
func Dir() (string, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "servertest-")
		if err != nil {
			return "", err
		}
		shared.dir = dir
	}
	return shared.dir, nil
}

func (s *sharedServers) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
	s.zkEmbedded.stop()
	s.zkReal.stop()
	s.redisEmbedded.stop()
	s.redisReal.stop()
}

// useReal reports whether tests may start real servers and other libraries' clients.
func useReal() bool { return os.Getenv("LOCKSCOPE_REAL") != "" }

// errEmbeddedOnly explains why no real server was looked for.
var errEmbeddedOnly = errors.New("real servers are off; LOCKSCOPE_REAL=installed or `make test-all` uses them")

// RequireReal skips the test unless real servers may be used.
func RequireReal(t testing.TB) {
	t.Helper()
	if !useReal() {
		t.Skipf("SKIPPED: %v", errEmbeddedOnly)
	}
}

// Long skips a slow test, unless LOCKSCOPE_LONG is set.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("LOCKSCOPE_LONG") == "" {
		t.Skip("SKIPPED: it is slow; LOCKSCOPE_LONG=1 or `make test-all` runs it")
	}
}

// Slow skips a test of several seconds with -short.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: it takes several seconds; it runs without -short")
	}
}

// Effort returns usual, or thorough if LOCKSCOPE_LONG is set. Use it for the number or size of a
// test's steps or seeds.
func Effort(t testing.TB, usual, thorough int) int {
	t.Helper()
	if os.Getenv("LOCKSCOPE_LONG") != "" {
		return thorough
	}
	t.Logf("%d; LOCKSCOPE_LONG=1 or `make test-all` uses %d", usual, thorough)
	return usual
}

// missingError names a program or library that is not installed here.
type missingError struct{ what string }

func (e missingError) Error() string { return e.what + " is not installed" }

// missing ends the test: skipped, or failed when LOCKSCOPE_REAL=require.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("LOCKSCOPE_REAL") == "require" {
		t.Fatalf("%s is not installed, and LOCKSCOPE_REAL=require: install it with `make deps`", what)
	}
	t.Skipf("SKIPPED: %s is not installed (`make deps` installs it; LOCKSCOPE_REAL=require makes this a failure)", what)
}

// check ends the test when a server could not be started.
func check(t testing.TB, err error) {
	t.Helper()
	if absent, ok := errors.AsType[missingError](err); ok {
		missing(t, absent.what)
	}
	if errors.Is(err, errEmbeddedOnly) {
		RequireReal(t)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var names atomic.Int64

// UniqueName returns a name that no other test of this process gets: the test's name and a number. Its characters are
// safe in znodes, keys and file names.
func UniqueName(t testing.TB) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, t.Name())
	return fmt.Sprintf("%s-%d", clean, names.Add(1))
}

// UniquePath is UniqueName as a znode path directly below the root. The node is not created.
func UniquePath(t testing.TB) string { return "/" + UniqueName(t) }
