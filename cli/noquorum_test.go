package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// reportedFinding is a finding that doctor reports on a lock or backend.
type reportedFinding struct {
	on                              string
	Rule, Message, Advice, Severity string
	Evidence                        map[string]any
	Steps                           []inspect.Step
}

// doctor returns the exit code of doctor, and what it finds.
func doctor(t *testing.T, args ...string) (code int, all []reportedFinding) {
	t.Helper()
	got := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
	s := parse(t, got.stdout)
	add := func(on string, findings []reportedFinding) {
		for _, f := range findings {
			f.on = on
			all = append(all, f)
			if f.Message == "" || f.Advice == "" || len(f.Evidence) == 0 {
				t.Errorf("%s: %s has no message, evidence or advice: %+v", on, f.Rule, f)
			}
		}
	}
	for _, b := range s.Backends {
		add("backend "+b.Name, b.Findings)
	}
	for _, l := range s.Locks {
		add(l.ID, l.Findings)
	}
	return got.code, all
}

// The last running member of an ensemble reports that it has no quorum.
func TestLostEnsembleQuorumIsCritical(t *testing.T) {
	t.Parallel()
	var addrs []string
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	look := func(args ...string) (code int, severity string) {
		code, all := doctor(t, append(args, "zk://"+strings.Join(addrs, ","))...)
		if i := slices.IndexFunc(all, func(f reportedFinding) bool { return f.Rule == "no-quorum" }); i >= 0 {
			severity = all[i].Severity
		}
		return code, severity
	}
	_, severity := look()
	must.Equal(t, severity, "", "with all members")
	servers[2].Kill(t)
	must.Become(t, "a warning that one more failure loses the quorum", func() bool {
		_, severity := look()
		return severity == "warning"
	})
	servers[1].Kill(t)
	must.Become(t, "a critical finding", func() bool {
		code, severity := look("--timeout", "5s")
		return severity == "critical" && code == app.ExitNo
	})
}
