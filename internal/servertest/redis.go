package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Redis is a running master without persistence.
type Redis struct {
	Addr string               // host:port
	Real bool                 // redis-server in its own process
	Mini *miniredis.Miniredis // the embedded server; nil when Real
	server
}

// Client returns a client of the server, closed when the test ends. Its timeouts suit a busy
// machine.
func (r *Redis) Client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: r.Addr, ReadTimeout: time.Minute, WriteTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// EachRedis runs f as subtests "embedded" and "real", each with n independent masters that all tests of the process
// share. Use UniqueName, and do not stop them. LOCKSCOPE_REAL decides whether the real ones are used.
func EachRedis(t *testing.T, n int, f func(t *testing.T, masters []*Redis)) {
	t.Run("embedded", func(t *testing.T) {
		masters, err := shared.redisEmbedded.first(n, startEmbeddedRedis)
		check(t, err)
		f(t, masters)
	})
	t.Run("real", func(t *testing.T) {
		masters, err := shared.redisReal.first(n, func() (*Redis, error) { return startRealRedis(nil) })
		check(t, err)
		f(t, masters)
	})
}

// StartRedis starts a real server for one test, which may break it. args are added to its command
// line, which must keep a plain TCP port on loopback. It stops when the test ends.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	r, err := startRealRedis(args)
	check(t, err)
	t.Cleanup(r.end)
	return r
}

// StartEmbeddedRedis starts an embedded server for one test. Its TTLs follow the wall clock. It is stopped
// when the test ends.
func StartEmbeddedRedis(t testing.TB) *Redis {
	t.Helper()
	r, err := startEmbeddedRedis()
	check(t, err)
	t.Cleanup(r.end)
	return r
}

// StartEmbeddedMasters starts n embedded servers.
func StartEmbeddedMasters(t testing.TB, n int) []*Redis {
	t.Helper()
	masters := make([]*Redis, n)
	for i := range masters {
		masters[i] = StartEmbeddedRedis(t)
	}
	return masters
}

// Restart starts the server again on the same address, after killing it if it runs. Its data is
// then lost, unless it was started with an append-only file. Until it has read that file, it
// answers INFO and DEBUG, and refuses the rest (LOADING).
func (r *Redis) Restart(t testing.TB) {
	t.Helper()
	if r.Real {
		r.server.Restart(t)
		return
	}
	r.own(t, "Restart")
	closeEmbedded(r.Mini)
	r.Mini.FlushAll()
	if err := r.Mini.Restart(); err != nil {
		t.Fatal(err)
	}
}

func startEmbeddedRedis() (*Redis, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // else TTLs only run down when a test advances the clock
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("servertest: miniredis: %w", err)
	}
	return &Redis{Addr: mini.Addr(), Mini: mini, server: server{close: func() { closeEmbedded(mini) }}}, nil
}

// closeEmbedded ends the requests first: miniredis 2.40 lets INFO use the server that Close takes away.
func closeEmbedded(mini *miniredis.Miniredis) {
	mini.CtxCancel()
	if server := mini.Server(); server != nil {
		server.Close()
	}
	mini.Close()
}

func startRealRedis(args []string) (*Redis, error) {
	return startRedis(args, "redis-server")
}

// startRedis starts a server with a command line that begins with before.
func startRedis(args []string, before ...string) (*Redis, error) {
	if !useReal() {
		return nil, errEmbeddedOnly
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, missingError{"redis-server"}
	}
	dir, err := os.MkdirTemp("", "servertest-redis-")
	if err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	var failed error
	for range startTries {
		port, err := freePort()
		if err != nil {
			failed = err
			continue
		}
		r := &Redis{Addr: loopback(port), Real: true, server: server{dir: dir}}
		r.run = func() (*process, error) { return runRedis(dir, r.Addr, args, before...) }
		if r.proc, failed = r.run(); failed == nil {
			return r, nil
		}
	}
	os.RemoveAll(dir)
	return nil, failed
}

// runRedis starts a server and waits until it answers.
func runRedis(dir, addr string, args []string, before ...string) (*process, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	args = append(append(before[1:len(before):len(before)],
		"--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--enable-debug-command", "yes",
	), args...)
	proc, err := startProcess(dir, before[0], args...)
	if err != nil {
		return nil, err
	}
	return proc, proc.awaitReady(func() error { return redisIs(proc.cmd.Process.Pid, addr) })
}

// redisIs checks by process id that the server on a port is ours, and not another that took the
// port first.
func redisIs(pid int, addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, "INFO server\r\n"); err != nil {
		return err
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "-NOAUTH") || strings.HasPrefix(line, "-ERR unknown command") {
			return nil // it is up, but has a password or a renamed INFO, so it cannot tell us its process id
		}
		if id, ok := strings.CutPrefix(line, "process_id:"); ok {
			if id != strconv.Itoa(pid) {
				return fmt.Errorf("servertest: process %s listens on %s, not ours (%d)", id, addr, pid)
			}
			return nil
		}
		if strings.HasPrefix(line, "-") {
			return fmt.Errorf("servertest: redis: %s", line)
		}
	}
	return fmt.Errorf("servertest: redis on %s: no answer to INFO", addr)
}
