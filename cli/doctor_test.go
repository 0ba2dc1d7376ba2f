package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

func found(rule string, severity inspect.Severity) inspect.Finding {
	return inspect.Finding{
		Rule: rule, Severity: severity, Message: rule + " is seen", Steps: []inspect.Step{{Verb: inspect.VerbConfigure, Why: "mend " + rule}}, Confidence: "certain",
		Evidence: map[string]any{"held_ms": int64(842_000), "contender": "evil\x1b[2J", "cause": "too many clients"},
	}
}

func TestDoctorSaysTheAnswerFirstAndThenTheWorst(t *testing.T) {
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
		{"unseen is no warning", []*inspect.Backend{healthy}, []*inspect.Lock{lock("/a", unseen)}, inspect.Warning, 0, "no problems found in 1 lock, partial view", nil},
		{"a degraded backend", []*inspect.Backend{healthy, sick}, []*inspect.Lock{lock("/a")}, inspect.Warning, 3, "no problems found in 1 lock, partial view", []string{"backend redis is degraded", "r2: no answer"}},
		{"found wins over unreachable", []*inspect.Backend{sick}, []*inspect.Lock{lock("/a", herd)}, inspect.Warning, 1, "1 warning in 1 lock, partial view", nil},
		{"nothing answers", []*inspect.Backend{{Name: "zk", State: inspect.Down}}, nil, inspect.Warning, 3, "nothing could be seen", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			a := &app{Environment: Environment{Stdout: &stdout, Stderr: &stderr}}
			err := a.printDiagnosis(inspect.NewSnapshot(time.Now(), tt.backends, tt.locks), "text", tt.threshold.Rank(), false)
			if code := exitCode(err); code != tt.code {
				t.Errorf("exit code %d (%v), want %d", code, err, tt.code)
			}
			rest := stdout.String()
			if first, _, _ := strings.Cut(rest, "\n"); first != tt.first {
				t.Errorf("the answer is %q, want %q", first, tt.first)
			}
			for _, text := range tt.order {
				_, after, found := strings.Cut(rest, text)
				if !found {
					t.Fatalf("no %q, or not in its place:\n%s", text, stdout.String())
				}
				rest = after
			}
			if strings.Contains(stdout.String(), "\x1b") {
				t.Errorf("a server's bytes reach the terminal: %q", stdout.String())
			}
		})
	}
}

func TestDoctorCountsWhereItDoesNotList(t *testing.T) {
	c := complaint{Finding: found("eviction-risk", inspect.Warning), on: strings.Fields("a b c d e f")}
	if got := enumerate(c.on); got != "a, b, c, d and 2 more" {
		t.Errorf("%q", got)
	}
	if text := evidence(inspect.Finding{Evidence: map[string]any{"votes": []map[string]any{{"addr": "a", "says": 1}, {"addr": "b"}}, "none": nil}, Confidence: "likely"}, time.Now()); text != "votes a 1, b (likely)" {
		t.Errorf("%q", text)
	}
}

func TestDoctorOnServers(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		peer := servertest.StartKazoo(t, server.Addr, root+"/orders", "worker")
		peer.Expect(t, "acquired")
		target := "zk://" + server.Addr + root + "?admin=" + server.Admin
		if got := run(t, "doctor", target); got.code != 0 || !strings.HasPrefix(got.stdout, "no problems found in 1 lock") {
			t.Errorf("a healthy lock: %+v", got)
		}
		got := run(t, "doctor", target, "-o", "json")
		if l := parse(t, got.stdout).lock(t, "zk:"+root+"/orders"); got.code != 0 || l.State != "held" {
			t.Errorf("json: %+v", got)
		}
	})
	if got := run(t, "doctor", "zk://127.0.0.1:1", "--timeout", "1s"); got.code != 3 || !strings.HasPrefix(got.stdout, "nothing could be seen\n") {
		t.Errorf("no server: %+v", got)
	}
	if got := run(t, "doctor", "zk://127.0.0.1:1", "--fail-on", "bad"); got.code != 2 {
		t.Errorf("a severity that is none: %+v", got)
	}
}

func TestWorstFinding(t *testing.T) {
	l := &inspect.Lock{Findings: []inspect.Finding{found("blind", inspect.Info), found("deadlock", inspect.Critical), found("herd", inspect.Warning)}}
	if got := worst(l); got != "critical: deadlock" {
		t.Errorf("%q", got)
	}
	if got := worst(&inspect.Lock{}); got != "" { // a dash in the table
		t.Errorf("%q", got)
	}
}

// A command in an advice stands on a line of its own, so that it can be copied with nothing that is not of it.
func TestACommandInAnAdviceStandsAlone(t *testing.T) {
	c := complaint{Finding: inspect.Finding{
		Message: "a holds it",
		Steps: []inspect.Step{
			{Verb: inspect.VerbWait, Why: "see what its client does", Command: "redis-cli CLIENT LIST"},
			{Verb: inspect.VerbWait, Why: "wait"},
			{Verb: inspect.VerbRelease, Why: "only if it hangs", Command: "lockscope release zk:/a --owner 'b. c'"},
			{Verb: inspect.VerbWait, Why: "let it be"},
		},
	}}
	want := `    do   see what its client does:
         redis-cli CLIENT LIST
         Wait. Only if it hangs:
         lockscope release zk:/a --owner 'b. c'
         Let it be
`
	if got := c.text("head", time.Now()); !strings.HasSuffix(got, want) {
		t.Errorf("%s", got)
	}
}
