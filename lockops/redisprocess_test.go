package lockops_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// TestHolderProcess is not a test. It runs as a client process that acquires a lock and prints
// events, so that tests can pause it.
func TestHolderProcess(t *testing.T) {
	config := os.Getenv(holderEnv)
	if config == "" {
		return
	}
	kind, addrs, _ := strings.Cut(config, " ")
	var options []*redis.UniversalOptions
	for _, a := range strings.Split(addrs, ",") {
		options = append(options, &redis.UniversalOptions{Addrs: []string{a}})
	}
	s := must.Have(lockops.NewRedisSession(t.Context(), options))(t)
	ttl := lockops.WithTTL(3 * time.Second)
	var l lockops.Locker = lockops.NewRedlock(s, "lock", ttl)
	switch kind {
	case "mutex":
		l = lockops.NewRedisMutex(s, "lock", ttl)
	case "fair":
		opts := []lockops.Option{ttl, lockops.OnWaiting(func(string) { fmt.Println("waiting") })}
		l = lockops.NewRedisFairMutex(s, "lock", opts...)
	}
	h := must.Have(l.Acquire(t.Context()))(t)
	fmt.Println("acquired")
	go func() {
		<-h.Context().Done()
		fmt.Println("lost", time.Now().UnixNano())
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := h.Release(context.Background()); err != nil {
		fmt.Println("release:", err)
	}
	s.Close()
	os.Exit(0)
}

// clientProcess is a client that runs in its own process.
type clientProcess struct {
	cmd   *exec.Cmd
	in    io.Closer // the client releases its lock when this is closed
	lines *bufio.Scanner
}

func startClient(t testing.TB, kind string, masters ...*servertest.Redis) *clientProcess {
	t.Helper()
	var addrs []string
	for _, m := range masters {
		addrs = append(addrs, m.Addr)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHolderProcess$")
	cmd.Env = append(os.Environ(), holderEnv+"="+kind+" "+strings.Join(addrs, ","))
	in := must.Have(cmd.StdinPipe())(t)
	out := must.Have(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &clientProcess{cmd, in, bufio.NewScanner(out)}
}

func (p *clientProcess) expect(t testing.TB, word string) (rest string) {
	t.Helper()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("the client ended without %q", word)
	return ""
}

func (p *clientProcess) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	must.Succeed(t, servertest.Signal(p.cmd.Process, s))
}

// A holder paused beyond its TTL loses its hold as soon as it continues, and its late release does
// not harm the next holder.
func TestL6_ResumedHolderLearnsOfLoss(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, kind := range []string{"mutex", "fair", "redlock"} {
		on := masters[:1]
		if kind == "redlock" {
			on = masters
		}
		p := startClient(t, kind, on...)
		p.expect(t, "acquired")
		p.signal(t, syscall.SIGSTOP)
		var l lockops.Locker
		switch kind {
		case "mutex":
			l = lockops.NewRedisMutex(redisSession(t, on...), "lock")
		case "fair":
			l = lockops.NewRedisFairMutex(redisSession(t, on...), "lock")
		case "redlock":
			l = lockops.NewRedlock(redisSession(t, on...), "lock", patient)
		}
		h := acquire(t, l) // granted once the TTL is over
		resumed := time.Now()
		p.signal(t, syscall.SIGCONT)
		var at int64
		must.Have(fmt.Sscan(p.expect(t, "lost"), &at))(t)
		if late := time.Duration(at - resumed.UnixNano()); late > 60*time.Second {
			t.Errorf("%s: loss reported %v after the client resumed", kind, late)
		}
		p.in.Close()
		must.Contain(t, p.expect(t, "release:"), "lost", kind, "late release")
		if err := p.cmd.Wait(); err != nil { // its session is closed and its background work has ended
			t.Error(err)
		}
		must.Be(t, h.Extend(within(t)), nil, kind, "extension of the next hold")
		release(t, h)
	}
}
