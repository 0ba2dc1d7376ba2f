package servertest

import (
	"bufio"
	_ "embed" // the peers' scripts
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed kazoo_lock.py
var kazooLock string

//go:embed kazoo_end.py
var kazooEnd string

//go:embed kazoo_locks.py
var kazooLocks string

//go:embed redispy_lock.py
var redisPyLock string

//go:embed foreign.py
var foreignLocks string

//go:embed both_locks.py
var bothLocks string

//go:embed Locks.java
var javaLocks string

// javaLocksJars are the class path of Locks.java.
var javaLocksJars = []string{
	"curator-recipes.jar", "curator-framework.jar", "curator-client.jar", "zookeeper.jar", "zookeeper-jute.jar",
	"zookeeper-recipes-lock.jar", "zookeeper-recipes-election.jar", "guava.jar", "slf4j-api.jar", "slf4j-nop.jar",
}

// Peer is a process that runs another library's client. It takes one lock, holds it until told to
// release it, and prints a line for each step: started, acquired, released.
type Peer struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	started []string // the words of its first line
	server  string
}

// StartKazoo starts a kazoo client that takes the Lock at path as name, and returns when it is connected. Its
// session outlives Kill by half a minute; Expire ends it at once.
func StartKazoo(t testing.TB, addr, path, name string) *Peer {
	t.Helper()
	p := startPeer(t, RequirePython(t, "kazoo"), kazooLock, addr, path, name)
	p.server = addr
	return p
}

// StartForeign starts a client of a library, kazoo or redis-py. It takes a lock repeatedly
// until it is killed, whatever happens to its servers. ttl is the time limit of its session or key.
// It appends each hold to a report, under the number of a worker (see foreign.py).
func StartForeign(t testing.TB, library, hosts, name string, ttl time.Duration, report string, worker int) *Peer {
	t.Helper()
	python := RequirePython(t, strings.TrimSuffix(library, "-py"))
	return startPeer(t, python, foreignLocks, library, hosts, name, fmt.Sprint(ttl.Seconds()), report,
		fmt.Sprint(worker))
}

// StartRedisPy starts a redis-py client that takes the Lock of a key for half a minute. An optional
// second argument is both the lock's token and the connection's name.
func StartRedisPy(t testing.TB, addr string, key ...string) *Peer {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	return startPeer(t, RequirePython(t, "redis"), redisPyLock, append([]string{host, port}, key...)...)
}

// StartOnBoth starts a program with a kazoo client and a redis-py client that uses the same name on both. It
// takes the lock at path or, if redisFirst, at key. Once it is sent a line, it also waits for the other lock.
func StartOnBoth(t testing.TB, zk, redis, name, path, key string, redisFirst bool) *Peer {
	t.Helper()
	RequirePython(t, "kazoo")
	host, port, _ := strings.Cut(redis, ":")
	first := "zookeeper"
	if redisFirst {
		first = "redis"
	}
	return startPeer(t, RequirePython(t, "redis"), bothLocks, zk, host, port, name, path, key, first)
}

// StartKazooLocks starts a process that takes kazoo's locks on command; see kazoo_locks.py and Send.
func StartKazooLocks(t testing.TB, addr string) *Peer {
	t.Helper()
	return startPeer(t, RequirePython(t, "kazoo"), kazooLocks, addr)
}

// StartCurator starts a process that takes Curator's locks, and those of ZooKeeper's own recipes, on command; see
// Locks.java and Send.
func StartCurator(t testing.TB, addr string) *Peer {
	t.Helper()
	RequireReal(t)
	java, err := exec.LookPath("java")
	if err != nil {
		missing(t, "java")
	}
	var path []string
	for _, jar := range javaLocksJars {
		file := filepath.Join(jarDir, jar)
		if _, err := os.Stat(file); err != nil {
			missing(t, file)
		}
		path = append(path, file)
	}
	classes, err := shared.javaClasses(java, strings.Join(path, ":"))
	check(t, err)
	return run(t,
		exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", strings.Join(append(path, classes), ":"), "Locks", addr))
}

// javaClasses is the directory of Locks.java's classes, which are compiled once.
func (s *sharedServers) javaClasses(java, path string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.classes != "" {
		return s.classes, nil
	}
	source, classes := filepath.Join(dir, "Locks.java"), filepath.Join(dir, "classes")
	if err := os.WriteFile(source, []byte(javaLocks), 0o600); err != nil {
		return "", err
	}
	out, err := exec.Command(java, "-XX:TieredStopAtLevel=1", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp",
		path, "-d", classes, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("servertest: compiling Locks.java: %w: %s", err, out)
	}
	s.classes = classes
	return classes, nil
}

func startPeer(t testing.TB, python, script string, args ...string) *Peer {
	t.Helper()
	return run(t, exec.Command(python, append([]string{"-c", script}, args...)...))
}

func run(t testing.TB, cmd *exec.Cmd) *Peer {
	t.Helper()
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	p := &Peer{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(p.Kill)
	p.Expect(t, "started")
	p.started = strings.Fields(p.out.Text())
	return p
}

// peerLimit bounds the wait for a peer's next line.
const peerLimit = 90 * time.Second

// Expect waits for the peer's next line, which must start with want.
func (p *Peer) Expect(t testing.TB, want string) {
	t.Helper()
	defer time.AfterFunc(peerLimit, func() { _ = p.cmd.Process.Kill() }).Stop()
	if !p.out.Scan() || !strings.HasPrefix(p.out.Text(), want) {
		t.Fatalf("peer says %q, want %q (%v)", p.out.Text(), want, p.out.Err())
	}
}

// Send writes a line of words to the peer.
func (p *Peer) Send(t testing.TB, words ...string) {
	t.Helper()
	_, err := io.WriteString(p.in, strings.Join(words, " ")+"\n")
	check(t, err)
}

// Release asks the peer to release its lock and exit.
func (p *Peer) Release(t testing.TB) {
	t.Helper()
	_, err := io.WriteString(p.in, "\n")
	check(t, err)
}

// Kill ends the peer without warning and waits until it is gone.
func (p *Peer) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.cmd.Wait()         // closes its input only now: on end of input the peer would release its lock
}

// Pause stops the peer's process (SIGSTOP): its connections stay open, and nothing is sent.
func (p *Peer) Pause(t testing.TB) {
	t.Helper()
	check(t, Signal(p.cmd.Process, syscall.SIGSTOP))
}

// Resume resumes a paused peer (SIGCONT).
func (p *Peer) Resume(t testing.TB) {
	t.Helper()
	check(t, Signal(p.cmd.Process, syscall.SIGCONT))
}

// Expire kills a peer of StartKazoo and ends its session at once.
func (p *Peer) Expire(t testing.TB) {
	t.Helper()
	p.Kill()
	out, err := exec.Command(python, append([]string{"-c", kazooEnd, p.server}, p.started[1:]...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ending a session: %v: %s", err, out)
	}
}
