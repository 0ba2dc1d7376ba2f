//go:build unix

package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// team has the worker processes of a round.
type team struct {
	cfg    Config
	dir    string
	live   []*process
	ended  []*process
	killed map[int]int64
	next   int
	// foreign are clients of other libraries in their own processes.
	foreign []*servertest.Peer
}

// process is a worker process.
type process struct {
	number int
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	output bytes.Buffer
	done   chan error
}

const crewSize = 3

// startTeam starts worker processes.
func startTeam(t *testing.T, cfg Config, dir string) *team {
	t.Helper()
	crew := &team{cfg: cfg, dir: dir, killed: map[int]int64{}}
	t.Cleanup(crew.killAll) // for failed rounds; others have ended them
	for range crewSize {
		crew.start(t)
	}
	return crew
}

// start starts another worker.
func (c *team) start(t *testing.T) {
	t.Helper()
	c.next++
	cfg := c.cfg
	cfg.Worker, cfg.Report = c.next, filepath.Join(c.dir, fmt.Sprintf("worker-%d.jsonl", c.next))
	text := must.Have(json.Marshal(cfg))(t)
	p := &process{number: c.next, cmd: exec.Command(must.Have(os.Executable())(t)), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.stdin = must.Have(p.cmd.StdinPipe())(t)
	// A worker that a fault has stopped would not see its standard input end.
	must.Succeed(t, servertest.StartCommand(p.cmd, func(err error) { p.done <- err })) // end waits for it
	c.live = append(c.live, p)
}

// firstForeign is the number of the first worker of another library.
const firstForeign = 1000

// startForeign starts the clients of other libraries that run in their own processes. Each acquires
// its lock repeatedly until the test ends, and restarts after a fault has ended it.
func (c *team) startForeign(t *testing.T) {
	t.Helper()
	var hosts string
	for _, l := range c.cfg.Locks {
		switch l.Foreign {
		case "kazoo":
			hosts = strings.Join(c.cfg.ZooKeeper, ",")
		case "redis-py":
			hosts = c.cfg.Redis[0][0]
		default:
			continue
		}
		worker := firstForeign + len(c.foreign)
		report := filepath.Join(c.dir, fmt.Sprintf("worker-%d.jsonl", worker))
		c.foreign = append(c.foreign, servertest.StartForeign(t, l.Foreign, hosts, l.Name, c.cfg.TTL, report, worker))
	}
}

// calm makes all workers stop pausing at failpoints.
func (c *team) calm(t *testing.T) {
	t.Helper()
	for _, p := range c.live {
		_, err := p.stdin.Write([]byte("\n"))
		must.Be(t, err, nil, "worker", p.number)
	}
}

// killAll kills the remaining workers.
func (c *team) killAll() {
	for _, p := range c.live {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	c.live = nil
}

// awaitGrant waits until a worker is granted a lock, which may take a while on a busy machine.
func (c *team) awaitGrant(t *testing.T) {
	t.Helper()
	must.Become(t, "a lock is granted", func() bool {
		return slices.ContainsFunc(c.live, func(p *process) bool {
			text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("worker-%d.jsonl", p.number)))
			return err == nil && bytes.Contains(text, []byte(`"op":"granted"`))
		})
	})
}

func (c *team) pause(t *testing.T, r *rand.Rand) func() {
	p := c.live[r.IntN(len(c.live))]
	p.signal(t, syscall.SIGSTOP)
	return func() {
		if c.killed[p.number] == 0 {
			p.signal(t, syscall.SIGCONT)
		}
	}
}

// kill kills a worker and starts another.
func (c *team) kill(t *testing.T, r *rand.Rand) {
	i := r.IntN(len(c.live))
	p := c.live[i]
	c.killed[p.number] = Now()
	p.signal(t, syscall.SIGKILL)
	<-p.done
	c.live = append(c.live[:i:i], c.live[i+1:]...)
	c.ended = append(c.ended, p)
	c.start(t)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := servertest.Signal(p.cmd.Process, s); err != nil {
		t.Errorf("worker %d: %v: %v", p.number, s, err)
	}
}

const endLimit = time.Minute

// end asks all workers to end and waits for them. A worker that hangs prints its goroutines.
func (c *team) end(t *testing.T) {
	t.Helper()
	for _, p := range c.foreign {
		p.Kill()
	}
	for _, p := range c.live {
		p.stdin.Close()
	}
	for _, p := range c.live {
		select {
		case err := <-p.done:
			must.Be(t, err, nil, "worker", p.number, p.output.String())
		case <-time.After(endLimit):
			p.signal(t, syscall.SIGQUIT)
			<-p.done
			t.Errorf("worker %d hung\n%s", p.number, p.output.Bytes())
		}
		c.ended = append(c.ended, p)
	}
	c.live = nil
}

// history merges the workers' and the nemesis' reports.
func (c *team) history(t *testing.T) *History {
	t.Helper()
	paths := must.Have(filepath.Glob(filepath.Join(c.dir, "*.jsonl")))(t)
	var reports [][]Record
	for _, path := range paths {
		if filepath.Base(path) == "audit.jsonl" {
			continue
		}
		reports = append(reports, must.Have(ReadReport(path))(t))
	}
	return NewHistory(c.killed, reports...)
}
