package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// cron runs doctor repeatedly. It must exit with 0, or with 3 while a server is unreachable.
type cron struct {
	t       *testing.T
	program string
	targets []string
	faults  *faults
	notes   *ledger
	dir     string

	mu    sync.Mutex
	codes map[int]int
	wrong []run
}

// run is a run of doctor that looks wrong. A fault recorded later may excuse it.
type run struct {
	code     int
	out      []byte
	errs     string
	from, to time.Time
}

// unreachable are the faults that make a server unreachable while they last and for a moment after.
var unreachable = []string{
	"ensemble", "restart zookeeper", "pause zookeeper", "isolate zookeeper", "pause master", "restart master", "failover", "kill master", "restart sentinel",
	"cluster failover", "move slot", "restart replica", membersDiffer, hostStill,
}

// run runs doctor every interval until ctx ends.
func (c *cron) run(ctx context.Context, every time.Duration) {
	for pause(ctx, every) {
		c.once(ctx)
	}
}

func (c *cron) once(ctx context.Context) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, append([]string{"doctor", "-o", "json"}, c.targets...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+c.dir, "XDG_STATE_HOME="+c.dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	from := time.Now()
	_ = cmd.Run()
	to := time.Now()
	if ctx.Err() != nil {
		return
	}
	code := cmd.ProcessState.ExitCode() // -1 if it did not start
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes[code]++
	if what := c.judge(code, out.Bytes(), from, to); what != "" {
		c.t.Logf("%s doctor looks wrong: %s", from.Format("15:04:05.000"), what)
		c.wrong = append(c.wrong, run{code, out.Bytes(), strings.TrimSpace(errs.String()), from, to})
	}
}

// verdict fails the test for wrong runs, once all faults are recorded.
func (c *cron) verdict() {
	for _, r := range c.wrong {
		if what := c.judge(r.code, r.out, r.from, r.to); what != "" {
			c.t.Errorf("%s doctor: %s; %s", r.from.Format("15:04:05.000"), what, r.errs)
		}
	}
}

// judge returns what is wrong with a run, or an empty string.
func (c *cron) judge(code int, out []byte, from, to time.Time) string {
	switch code {
	case 0:
		return ""
	case 3:
		_, found := c.faults.find(func(f *fault) bool { return slices.Contains(unreachable, f.kind) && f.overlaps(from, to, late) })
		if found {
			return ""
		}
		return "exit code 3 although every server was reachable"
	case 1:
		var seen struct {
			Backends, Locks []struct {
				Name, ID string
				Findings []inspect.Finding
			}
		}
		if err := json.Unmarshal(out, &seen); err != nil {
			return "exit code 1, and the output is not JSON: " + err.Error()
		}
		var false []string
		for _, at := range append(seen.Backends, seen.Locks...) {
			for _, f := range at.Findings {
				if f.Severity != inspect.Info && !isTrue(c.faults, c.notes, at.Name+backendOf(at.ID), at.ID, &f, from, to) {
					false = append(false, at.Name+at.ID+" "+f.Rule+": "+f.Message)
				}
			}
		}
		return strings.Join(false, "; ")
	default:
		return "exit code is not 0, 1 or 3"
	}
}
