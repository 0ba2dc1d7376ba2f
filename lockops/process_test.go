package lockops_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/campaign"
)

// holderEnv passes the kind, the name, the TTL or session timeout, and the servers to a holder process.
const holderEnv = "LOCKOPS_TEST_HOLDER"

// TestHolderProcess is not a test. It runs as a client process that acquires a lock and prints
// events, so that tests can pause it.
func TestHolderProcess(t *testing.T) {
	words := strings.Fields(os.Getenv(holderEnv))
	if len(words) == 0 {
		return
	}
	kind, name, ttl, addrs := words[0], words[1], must.Have(time.ParseDuration(words[2]))(t), words[3:]
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it also ends with the parent process
		end()
	}()
	waiting := lockops.OnWaiting(func(string) { fmt.Println("waiting") })
	var s lockops.Session
	var l lockops.Locker
	if kind == "zookeeper" {
		zk := must.Have(lockops.NewZKSession(ctx, addrs, lockops.WithSessionTimeout(ttl)))(t)
		s, l = zk, lockops.NewZKMutex(zk, name, waiting)
	} else {
		s = must.Have(lockops.NewRedisSession(ctx, redisOptions(addrs...)))(t)
		l = must.Have(redisKind(kind).New(s, name, lockops.WithTTL(ttl), waiting))(t)
	}
	h := must.Have(l.Acquire(ctx))(t)
	fmt.Println("acquired")
	go func() {
		<-h.Context().Done()
		fmt.Println("ended", campaign.Now(), errors.Is(context.Cause(h.Context()), lockops.ErrLost))
	}()
	<-ctx.Done()
	if err := h.Release(context.Background()); err != nil {
		fmt.Println("release:", err)
	}
	s.Close()
	os.Exit(0)
}

// holderProcess is a client that runs in its own process.
type holderProcess struct {
	cmd   *exec.Cmd
	in    io.Closer // the client releases its lock when this is closed
	lines *bufio.Scanner
}

// startHolder starts a process that takes a lock, and waits until it holds it.
func startHolder(t testing.TB, kind, name string, ttl time.Duration, addrs ...string) *holderProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHolderProcess$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %v %s", holderEnv, kind, name, ttl, strings.Join(addrs, " ")))
	in := must.Have(cmd.StdinPipe())(t)
	out := must.Have(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill() // works even if it is stopped
		_ = cmd.Wait()
	})
	return &holderProcess{cmd, in, bufio.NewScanner(out)}
}

// expect waits for a line that starts with a word.
func (p *holderProcess) expect(t testing.TB, word string) (rest string) {
	t.Helper()
	defer context.AfterFunc(within(t), func() { _ = p.cmd.Process.Kill() })()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("the client ended without %q", word)
	return ""
}

// ended waits for the end of the hold, and returns when it was, by CLOCK_MONOTONIC, and whether the
// lock was lost.
func (p *holderProcess) ended(t testing.TB) (at int64, lost bool) {
	t.Helper()
	must.Have(fmt.Sscan(p.expect(t, "ended"), &at, &lost))(t)
	return at, lost
}

func (p *holderProcess) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	must.Succeed(t, servertest.Signal(p.cmd.Process, s))
}

// A holder paused beyond its TTL loses its hold as soon as it continues, and its late release does
// not harm the next holder.
func TestL6_ResumedHolderLearnsOfLoss(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	for _, kind := range redisKinds {
		on := mastersOf(kind, masters)
		p := startHolder(t, kind.Name, "lock", 3*time.Second, addrsOf(on)...)
		p.expect(t, "acquired")
		p.signal(t, syscall.SIGSTOP)
		h := acquire(t, lockOf(t, kind, redisSession(t, on...), "lock")) // granted once the TTL is over
		resumed := campaign.Now()
		p.signal(t, syscall.SIGCONT)
		at, lost := p.ended(t)
		must.True(t, lost, kind.Name, "the hold ended but was not lost")
		late := time.Duration(at - resumed)
		must.True(t, late <= hangs, kind.Name, "loss reported", late, "after the client resumed")
		p.in.Close()
		must.Contain(t, p.expect(t, "release:"), "lost", kind.Name, "late release")
		must.Be(t, p.cmd.Wait(), nil, kind.Name) // its session is closed and its background work has ended
		must.Be(t, h.Extend(within(t)), nil, kind.Name, "extension of the next hold")
		release(t, h)
	}
}

// runStopped pauses the holder's process around the end of its lease, during a partition. The hold
// must end as soon as the process resumes, without an answer from a server. If it resumes before
// the lease ends, the hold must end before the next grant.
func (p *partition) runStopped(t *testing.T, e *servertest.Ensemble, over bool) {
	const timeout = partitionLimit * partitionTick
	x, leader := p.member(t, e)
	other := 3 - x - leader
	if p.onLeader {
		other = (x + 1) % len(e.Members)
	}
	path := servertest.UniquePath(t)
	holder := startHolder(t, "zookeeper", path, timeout, e.Clients[x].Addr())
	holder.expect(t, "acquired")
	_, got := mustQueue(t, within(t), mutexMaker(zkSession(t, e.Members[other].Addr), path))
	defer p.heal(t, e, x)
	cut := time.Now()
	p.cut(t, e, x, leader)
	// The lease ends between 5/8 and 3/4 of the timeout after the cut.
	time.Sleep(timeout / 4)
	holder.signal(t, syscall.SIGSTOP)
	time.Sleep(timeout / 8) // the paused process cannot report anything
	var next *lockops.Hold
	if over {
		next = granted(t, got)
	}
	holder.signal(t, syscall.SIGCONT)
	inTime := time.Since(cut) < timeout/2 // false on a busy machine
	reported, lost := holder.ended(t)
	must.True(t, lost, "the hold ended but was not lost")
	if !over {
		next = granted(t, got)
	}
	now := campaign.Now()
	must.True(t, over || !inTime || reported <= now, "two holders: loss reported", time.Duration(reported-now), "after the next grant")
	release(t, next)
}
