package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func found(rule string, severity inspect.Severity) inspect.Finding {
	return inspect.Finding{
		Rule: rule, Severity: severity, Message: rule + " is seen", Steps: []inspect.Step{{Verb: inspect.VerbConfigure, Why: "mend " + rule}}, Confidence: "certain",
		Evidence: map[string]any{"held_ms": int64(842_000), "contender": "evil\x1b[2J", "cause": "too many clients"},
	}
}

func TestDoctorPrintsVerdictThenWorstFinding(t *testing.T) {
	lock := func(path string, fs ...inspect.Finding) *inspect.Lock {
		return &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: path}, State: inspect.StateHeld, Findings: fs}
	}
	deadlock, herd, unseen := found("deadlock", inspect.Critical), found("herd", inspect.Warning), found("blind", inspect.Info)
	healthy := &inspect.Backend{Name: "zk", State: inspect.Connected}
	sick := &inspect.Backend{Name: "redis", State: inspect.Degraded, Error: "r2: no answer"}
	for _, tt := range []struct {
		name      string
		backends  []*inspect.Backend
		locks     []*inspect.Lock
		threshold inspect.Severity
		code      int
		first     string
		order     []string
	}{
		{"healthy", []*inspect.Backend{healthy}, []*inspect.Lock{lock("/a"), lock("/b")}, inspect.Info, 0, "no problems found in 2 locks", nil},
		{
			"one finding on two locks is reported once",
			[]*inspect.Backend{healthy},
			[]*inspect.Lock{lock("/a", herd), lock("/b", deadlock), lock("/c", deadlock, unseen)},
			inspect.Critical, 1, "1 critical, 1 warning in 3 locks, partial view",
			[]string{
				"CRITICAL", "zk:/b, zk:/c   deadlock", "deadlock is seen", "why  too many clients", `seen contender evil\u{1b}[2J; held 14m02s`,
				"do   mend deadlock", "WARNING", "zk:/a   herd", "NOT SEEN", "zk:/c   blind",
			},
		},
		{"below the threshold", []*inspect.Backend{healthy}, []*inspect.Lock{lock("/a", herd)}, inspect.Critical, 0, "1 warning in 1 lock", nil},
		{"unseen is not a warning", []*inspect.Backend{healthy}, []*inspect.Lock{lock("/a", unseen)}, inspect.Warning, 0, "no problems found in 1 lock, partial view", nil},
		{"a degraded backend", []*inspect.Backend{healthy, sick}, []*inspect.Lock{lock("/a")}, inspect.Warning, 3, "no problems found in 1 lock, partial view", []string{"backend redis is degraded", "r2: no answer"}},
		{"found wins over unreachable", []*inspect.Backend{sick}, []*inspect.Lock{lock("/a", herd)}, inspect.Warning, 1, "1 warning in 1 lock, partial view", nil},
		{"nothing answers", []*inspect.Backend{{Name: "zk", State: inspect.Down}}, nil, inspect.Warning, 3, "nothing could be seen", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			a := &app.App{Environment: app.Environment{Stdout: &stdout, Stderr: &stderr}}
			err := printDiagnosis(a, inspect.NewSnapshot(time.Now(), tt.backends, tt.locks), "text", tt.threshold.Rank(), false)
			must.Equal(t, app.ExitCode(err), tt.code, err, "exit code")
			rest := stdout.String()
			first, _, _ := strings.Cut(rest, "\n")
			must.Equal(t, first, tt.first, "the answer")
			for _, text := range tt.order {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("%q is missing or out of order:\n%s", text, stdout.String())
				}
				rest = after
			}
			must.True(t, !strings.Contains(stdout.String(), "\x1b"), "control characters from a server:", stdout.String())
		})
	}
}

// An incomplete read that may hide a finding sets the exit code, unless --allow-partial is given.
// Reads that were never requested, and missed events between two reads, hide nothing.
func TestDoctorFailsOnIncompleteReads(t *testing.T) {
	unseen := func(a inspect.Aspect) []inspect.Unseen {
		return []inspect.Unseen{{Aspect: a, Where: "r1:1", Read: "TYPE", Reason: "NOPERM", Right: "+type"}}
	}
	server := func(state inspect.ServerState) []inspect.Server {
		return []inspect.Server{{Addr: "z1:2181", State: inspect.ServerUp}, {Addr: "z2:2181", State: state}}
	}
	fine := inspect.Lock{ID: inspect.ID{Backend: "b", Path: "/a"}, State: inspect.StateHeld}
	warned := fine
	warned.Findings = []inspect.Finding{found("herd", inspect.Warning)}
	for _, tt := range []struct {
		name           string
		backend        inspect.Backend
		lock           inspect.Lock
		code, allowing int
		stderr         string // a part of it; empty if nothing is printed
	}{
		{"everything was seen", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerUp)}, fine, 0, 0, ""},
		{"a part of a lock", inspect.Backend{State: inspect.Connected}, inspect.Lock{ID: fine.ID, Unseen: unseen(inspect.AspectWaiters)}, 3, 0, "has 1 partly read lock"},
		{"a master of a lock", inspect.Backend{State: inspect.Connected}, inspect.Lock{ID: fine.ID, Masters: []inspect.Vote{{Addr: "r1"}}}, 3, 0, "1 partly read lock"},
		{"a part of the backend", inspect.Backend{State: inspect.Connected, Unseen: unseen(inspect.AspectLocks)}, fine, 3, 0, "was only partly read"},
		{"a dead replica of a cluster", inspect.Backend{State: inspect.Connected, Servers: []inspect.Server{{Addr: "r2:6379", State: inspect.ServerDown, Role: "replica", Cluster: true}}}, fine, 0, 0, ""},
		{"a dead member", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerDown)}, fine, 3, 0, "no answer from z2:2181"},
		{"a server that was not asked", inspect.Backend{State: inspect.Connected, Servers: server(inspect.ServerUnknown)}, fine, 0, 0, ""},
		{"a degraded backend", inspect.Backend{State: inspect.Degraded}, fine, 3, 0, "is degraded"},
		{"a backend that is down", inspect.Backend{State: inspect.Down}, fine, 3, 3, "is down"},
		{"changes between two reads", inspect.Backend{State: inspect.Connected, Unseen: unseen("changes")}, fine, 0, 0, ""},
		{"found wins", inspect.Backend{State: inspect.Connected, Unseen: unseen(inspect.AspectLocks)}, warned, 1, 1, "only partly read"},
	} {
		tt.backend.Name = "b"
		s := inspect.NewSnapshot(time.Now(), []*inspect.Backend{&tt.backend}, []*inspect.Lock{&tt.lock})
		for allow, want := range map[bool]int{false: tt.code, true: tt.allowing} {
			for _, output := range []string{"text", "json"} {
				var stdout, stderr bytes.Buffer
				a := &app.App{Environment: app.Environment{Stdout: &stdout, Stderr: &stderr}}
				err := printDiagnosis(a, s, output, inspect.Warning.Rank(), allow)
				must.Equal(t, app.ExitCode(err), want, tt.name, "allowed", allow, output, "exit code")
				if said := stderr.String(); output == "json" && want == 3 && !strings.Contains(said, tt.stderr) {
					t.Errorf("%s: stderr %q lacks %q", tt.name, said, tt.stderr)
				}
			}
		}
	}
}
