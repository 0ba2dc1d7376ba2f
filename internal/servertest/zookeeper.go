package servertest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/zkserver"
)

// tick is the tick time of all ZooKeeper servers here, and longest the longest session timeout.
// Timeouts range from 1 s to 40 s.
const (
	tick    = 500 * time.Millisecond
	longest = 40 * time.Second
)

const jarDir = "/usr/share/java"

// zookeeperJars are ZooKeeper's class path: its manifest names the rest, but neither a logger nor the servlet API,
// without which the AdminServer silently does not start.
var zookeeperJars = []string{"zookeeper.jar", "servlet-api.jar", "slf4j-simple.jar"}

// ZooKeeper is a running standalone server.
type ZooKeeper struct {
	Addr     string           // host:port for clients and four-letter words
	Admin    string           // http://host:port of the AdminServer
	Real     bool             // Apache ZooKeeper in its own process
	Embedded *zkserver.Server // nil when Real
	server
}

// EachZooKeeper runs f as subtests "embedded" and "real", with one shared server of each kind per test process: use
// UniquePath, and do not stop it. LOCKSCOPE_REAL decides whether the real one is used.
func EachZooKeeper(t *testing.T, f func(t *testing.T, zk *ZooKeeper)) {
	t.Run("embedded", func(t *testing.T) {
		all, err := shared.zkEmbedded.first(1, func() (*ZooKeeper, error) { return startEmbeddedZooKeeper(zkserver.Config{}) })
		check(t, err)
		f(t, all[0])
	})
	t.Run("real", func(t *testing.T) {
		all, err := shared.zkReal.first(1, func() (*ZooKeeper, error) { return startRealZooKeeper() })
		check(t, err)
		f(t, all[0])
	})
}

// StartZooKeeper starts a real server for one test, which may break it. It is stopped when the test
// ends. lines are added to its configuration; they must keep the four-letter word "conf" allowed.
func StartZooKeeper(t testing.TB, lines ...string) *ZooKeeper {
	t.Helper()
	zk, err := startRealZooKeeper(lines...)
	check(t, err)
	t.Cleanup(zk.end)
	return zk
}

// StartEmbeddedZooKeeper starts an embedded server for one test; the zero Config means the same tick as the
// others here.
func StartEmbeddedZooKeeper(t testing.TB, cfg zkserver.Config) *ZooKeeper {
	t.Helper()
	zk, err := startEmbeddedZooKeeper(cfg)
	check(t, err)
	t.Cleanup(zk.end)
	return zk
}

// ProcessorTime returns the processor time that a real server's process has used since its start;
// Linux only.
func (z *ZooKeeper) ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	used, err := processorTime(z.ownReal(t, "ProcessorTime").cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// Expire ends a session at once, as if its client had been silent for too long. Only an embedded server can do that.
func (z *ZooKeeper) Expire(t testing.TB, session int64) {
	t.Helper()
	if z.Embedded == nil {
		t.Fatal("servertest: Expire: only an embedded ZooKeeper can expire a session")
	}
	if err := z.Embedded.ExpireSession(session); err != nil {
		t.Fatal(err)
	}
}

func startEmbeddedZooKeeper(cfg zkserver.Config) (*ZooKeeper, error) {
	if cfg.TickTime == 0 {
		cfg.TickTime, cfg.MaxSessionTimeout = tick, longest
	}
	z, err := zkserver.Start(cfg)
	if err != nil {
		return nil, err
	}
	return &ZooKeeper{
		Addr: z.Addr(), Admin: "http://" + z.AdminAddr(), Embedded: z, server: server{close: func() { z.Close() }},
	}, nil
}

// zookeeperInstalled returns an error that names the missing part.
func zookeeperInstalled() error {
	if !useReal() {
		return errEmbeddedOnly
	}
	if _, err := exec.LookPath("java"); err != nil {
		return missingError{"ZooKeeper's Java runtime (java)"}
	}
	for _, jar := range zookeeperJars {
		if _, err := os.Stat(filepath.Join(jarDir, jar)); err != nil {
			return missingError{"ZooKeeper (" + filepath.Join(jarDir, jar) + ")"}
		}
	}
	return nil
}

func startRealZooKeeper(lines ...string) (*ZooKeeper, error) {
	if err := zookeeperInstalled(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "servertest-zookeeper-")
	if err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	var failed error
	for range startTries {
		zk, err := tryZooKeeper(dir, strings.Join(lines, "\n"))
		if err == nil {
			return zk, nil
		}
		failed = err
	}
	os.RemoveAll(dir)
	return nil, failed
}

func tryZooKeeper(dir, more string) (*ZooKeeper, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	adminPort, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := configure(dir, port, adminPort, more); err != nil {
		return nil, err
	}
	zk := realZooKeeper(dir, port, adminPort)
	if zk.proc, err = zk.run(); err != nil {
		return nil, err
	}
	if err := zk.proc.awaitReady(func() error { return adminIsOf(dir, zk.Admin) }); err != nil {
		zk.proc.kill()
		return nil, err
	}
	return zk, nil
}

// realZooKeeper returns a server that has not been started; options are for its JVM.
func realZooKeeper(dir string, port, adminPort int, options ...string) *ZooKeeper {
	zk := &ZooKeeper{
		Addr: loopback(port), Admin: "http://" + loopback(adminPort), Real: true, server: server{dir: dir},
	}
	zk.run = func() (*process, error) { return runZooKeeper(dir, zk.Addr, options...) }
	return zk
}

// configure writes a server's configuration; the lines of more come last.
func configure(dir string, port, adminPort int, more string) error {
	config := fmt.Sprintf(`tickTime=%d
maxSessionTimeout=%d
dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
admin.serverAddress=127.0.0.1
admin.serverPort=%d
4lw.commands.whitelist=*
maxClientCnxns=0
%s`, tick.Milliseconds(), longest.Milliseconds(), filepath.Join(dir, "data"), port, adminPort, more)
	if err := os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("servertest: %w", err)
	}
	return nil
}

// runZooKeeper starts the server that is configured in dir and waits until its client port answers.
func runZooKeeper(dir, addr string, options ...string) (*process, error) {
	proc, err := startJVM(dir, options...)
	if err != nil {
		return nil, err
	}
	return proc, proc.awaitReady(func() error { return portIsOf(dir, addr) })
}

// startJVM starts the server that is configured in dir, alone or as a member of an ensemble.
func startJVM(dir string, options ...string) (*process, error) {
	var classPath []string
	for _, jar := range slices.Concat(zookeeperJars, netty) {
		classPath = append(classPath, filepath.Join(jarDir, jar))
	}
	args := append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.extendedTypesEnabled=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
	}, options...)
	return startProcess(dir, "java", append(args,
		"-cp", strings.Join(classPath, ":"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg")...)
}

// portIsOf checks by its data directory that the server on the client port is ours, and not another
// that took the port first.
func portIsOf(dir, addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, "conf"); err != nil {
		return err
	}
	return mustMention(conn, dir)
}

func adminIsOf(dir, admin string) error {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(admin + "/commands/configuration")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return mustMention(resp.Body, dir)
}

func mustMention(r io.Reader, dir string) error {
	text, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), dir) {
		return fmt.Errorf("servertest: not ready, or another ZooKeeper: %.200q", text)
	}
	return nil
}

// ConnectZooKeeper returns a client of a server, closed when the test ends.
func ConnectZooKeeper(t testing.TB, addr string, timeout time.Duration) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events { // closed when its goroutines have ended
		}
	})
	return conn
}
