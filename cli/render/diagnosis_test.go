package render

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestLongEnumerationsEndInCount(t *testing.T) {
	c := Complaint{Finding: oneFinding("eviction-risk", inspect.Warning), on: strings.Fields("a b c d e f")}
	must.Equal(t, enumerate(c.on), "a, b, c, d and 2 more")
	if text := evidence(inspect.Finding{Evidence: map[string]any{"votes": []map[string]any{{"addr": "a", "says": 1}, {"addr": "b"}}, "none": nil}, Confidence: "likely"}, time.Now()); text != "votes a 1, b; confidence likely" {
		t.Errorf("%q", text)
	}
}

func TestWorstFinding(t *testing.T) {
	l := &inspect.Lock{Findings: []inspect.Finding{oneFinding("blind", inspect.Info), oneFinding("deadlock", inspect.Critical), oneFinding("herd", inspect.Warning)}}
	must.Equal(t, worst(l), "critical: deadlock")
	must.Equal(t, worst(&inspect.Lock{}), "") // a dash in the table
}

func TestAdvisedCommandsGetTheirOwnLine(t *testing.T) {
	c := Complaint{Finding: inspect.Finding{
		Message: "a holds it",
		Steps: []inspect.Step{
			{Verb: inspect.VerbWait, Why: "see what its client is doing", Command: "redis-cli CLIENT LIST"},
			{Verb: inspect.VerbWait, Why: "wait"},
			{Verb: inspect.VerbRelease, Why: "only if it hangs", Command: "lockscope release zk:/a --owner 'b. c'"},
			{Verb: inspect.VerbWait, Why: "let it be"},
		},
	}}
	want := `    do   see what its client is doing:
         redis-cli CLIENT LIST
         Wait. Only if it hangs:
         lockscope release zk:/a --owner 'b. c'
         Let it be
`
	if got := c.text("head", time.Now()); !strings.HasSuffix(got, want) {
		t.Errorf("%s", got)
	}
}

func TestDoctorNamesADeadMember(t *testing.T) {
	b := &inspect.Backend{Name: "zk", State: inspect.Connected, Servers: []inspect.Server{{Addr: "z1:2181", State: inspect.ServerUp}, {Addr: "z2:2181", State: inspect.ServerDown, Error: "connection\x1b[2J refused"}}}
	text := Report(inspect.NewSnapshot(time.Now(), []*inspect.Backend{b}, nil), nil)
	for _, want := range []string{"partial view", "NOT SEEN", "server z2:2181 is down", "refused"} {
		must.Contain(t, text, want)
	}
	must.True(t, !strings.Contains(text, "\x1b"), "control characters from a server:", text)
}

func oneFinding(rule string, severity inspect.Severity) inspect.Finding {
	return inspect.Finding{Rule: rule, Severity: severity}
}
