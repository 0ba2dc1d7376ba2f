package lockops_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/campaign"
)

// stoppedEnv passes the server, the session timeout and the path to a holder process.
const stoppedEnv = "LOCKSCOPE_TEST_HOLDER"

// A process with stoppedEnv in its environment holds a lock, and prints when the hold ended and
// whether it was lost.
func init() {
	words := strings.Fields(os.Getenv(stoppedEnv))
	if len(words) != 3 {
		return
	}
	err := func() error {
		timeout, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		s, err := lockops.NewZKSession(context.Background(), words[:1], lockops.WithSessionTimeout(timeout))
		if err != nil {
			return err
		}
		h, err := lockops.NewZKMutex(s, words[2]).Acquire(context.Background())
		if err != nil {
			return err
		}
		fmt.Println("holds")
		<-h.Context().Done()
		fmt.Println("ended", campaign.Now(), errors.Is(context.Cause(h.Context()), lockops.ErrLost))
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has ended
		return nil
	}()
	if err != nil {
		fmt.Println("failed", err)
	}
	os.Exit(0)
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
	holder := startHolder(t, e.Clients[x].Addr(), timeout, path)
	_, got := queueUp(t, within(t), mutexOn(zkSession(t, e.Members[other].Addr, lockops.WithSessionTimeout(20*time.Second)), path))
	defer func() {
		if p.mend != nil {
			p.mend(t, e, x)
		}
		e.Heal(t)
	}()
	cut := time.Now()
	p.cut(t, e, x, leader)
	// The lease ends between 5/8 and 3/4 of the timeout after the cut.
	time.Sleep(timeout / 4)
	holder.signal(t, syscall.SIGSTOP)
	time.Sleep(timeout / 8) // the paused process cannot report anything
	var next acquired
	if over {
		next = <-got
	}
	holder.signal(t, syscall.SIGCONT)
	inTime := time.Since(cut) < timeout/2 // false on a busy machine
	reported, lost := holder.ended(t)
	must.True(t, lost, "the hold ended but was not lost")
	if !over {
		next = <-got
	}
	granted := campaign.Now()
	must.Succeed(t, next.err)
	if !over && inTime && reported > granted {
		t.Errorf("two holders: the loss was reported %v after the next grant", time.Duration(reported-granted))
	}
	release(t, next.h)
}

// holderProcess is a holder in its own process.
type holderProcess struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startHolder(t *testing.T, server string, timeout time.Duration, path string) *holderProcess {
	t.Helper()
	self := must.Have(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %v %s", stoppedEnv, server, timeout, path))
	stdin := must.Have(cmd.StdinPipe())(t)
	out := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill() // works even if it is stopped
		_ = cmd.Wait()
	})
	h := &holderProcess{cmd, bufio.NewScanner(out)}
	if line := h.line(t); line != "holds" {
		t.Fatal(line)
	}
	return h
}

func (h *holderProcess) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	must.Succeed(t, servertest.Signal(h.cmd.Process, s))
}

// line reads the next line of the process's output.
func (h *holderProcess) line(t *testing.T) string {
	t.Helper()
	said := make(chan string, 1)
	go func() {
		h.lines.Scan()
		said <- h.lines.Text()
	}()
	select {
	case line := <-said:
		return line
	case <-within(t).Done():
		_ = h.cmd.Process.Kill() // ends the scan
		t.Fatal("no output from the holder: " + <-said)
	}
	return ""
}

// ended waits for the end of the hold, and returns when it was, by CLOCK_MONOTONIC, and whether the
// lock was lost.
func (h *holderProcess) ended(t *testing.T) (at int64, lost bool) {
	t.Helper()
	words := strings.Fields(h.line(t))
	if len(words) != 3 || words[0] != "ended" {
		t.Fatalf("the holder printed %q", words)
	}
	at = must.Have(strconv.ParseInt(words[1], 10, 64))(t)
	return at, words[2] == "true"
}
