package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/look"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestTheAuditTrailIsRead: what was acted on, by whom, why, and what came of it, filtered by lock and time;
// locks taken by hand are in it; damage and missing outcomes are found. auditing is a server, and the audit
// file of what is done to its locks.
type auditing struct {
	*testing.T
	env    map[string]string
	target string
}

// auditedValue holds lock:a when an auditing begins.
const auditedValue = "YWFhYWFhYWFhYWFhYWFhYQ=="

func startAuditing(t *testing.T) auditing {
	server := servertest.StartEmbeddedRedis(t)
	client := server.Client(t)
	client.Set(t.Context(), "lock:a", auditedValue, 0)
	return auditing{t, map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}, "redis://" + server.Addr}
}

func (a auditing) do(code int, args ...string) outcome {
	a.Helper()
	got := runIn(a.T, a.Context(), a.env, args...)
	if got.code != code {
		a.Fatalf("%v: %+v", args, got)
	}
	return got
}

func (a auditing) trail(args ...string) (list []look.AuditRecord) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.do(0, append([]string{"audit", "-o", "json"}, args...)...).stdout), &list); err != nil {
		a.Fatal(err)
	}
	return list
}

// act leaves three actions in the file.
func (a auditing) act() {
	a.Helper()
	a.do(1, "release", "redis:lock:a", a.target, "--owner", "another", "--yes") // refused in the preview: nothing is begun
	a.do(0, "ttl", "redis:lock:a", a.target, "--owner", auditedValue, "--set", "10m", "--yes", "--reason", "its worker is gone, ticket 7")
	a.do(0, "release", "redis:lock:a", a.target, "--owner", auditedValue, "--yes")
	a.do(0, "acquire", "redis:lock:b", a.target, "--", "true")
}

func TestTheAuditTrailIsRead(t *testing.T) {
	a := startAuditing(t)
	if list := a.trail(); len(list) != 0 {
		t.Errorf("without a file: %+v", list)
	}
	a.act()
	list := a.trail()
	var got []string
	for _, r := range list {
		got = append(got, r.Action+" "+r.Lock+" "+r.Outcome)
		if r.User == "" || r.Host == "" || r.Ended == nil || len(r.Lines) != 2 || !strings.HasPrefix(r.Owner, "sha256:") {
			t.Errorf("record %+v", r)
		}
	}
	if want := "ttl redis:lock:a done, release redis:lock:a done, acquire redis:lock:b released"; strings.Join(got, ", ") != want {
		t.Errorf("trail %q, want %q", got, want)
	}
	if list[0].Why != "its worker is gone, ticket 7" || list[0].Confirmed != "--yes" {
		t.Errorf("record %+v", list[0])
	}
	if list := a.trail("--lock", "redis:lock:b"); len(list) != 1 || list[0].Action != "acquire" {
		t.Errorf("of one lock: %+v", list)
	}
	if list := a.trail("--since", "2999-01-01T00:00:00Z"); len(list) != 0 {
		t.Errorf("of the future: %+v", list)
	}
	if list := a.trail("--since", "1h"); len(list) != 3 {
		t.Errorf("of an hour: %+v", list)
	}
	if text := a.do(0, "audit").stdout; strings.Count(text, "\n") != 3 || !strings.Contains(text, "why its worker is gone, ticket 7") {
		t.Errorf("text:\n%s", text)
	}
	a.do(2, "audit", "--since", "yesterday")
	a.do(2, "audit", "check")
}

func TestADamagedAuditTrailIsNotVerified(t *testing.T) {
	a := startAuditing(t)
	a.act()
	a.do(0, "audit", "verify")
	path := filepath.Join(a.env["XDG_STATE_HOME"], "lockscope", "audit.jsonl")
	text := must.Have(os.ReadFile(path))(t)
	cut := strings.Join(strings.SplitAfter(string(text), "\n")[:3], "") + `{"at":"2026-` // the end of the release is missing
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := a.do(1, "audit", "verify"); !strings.Contains(got.stderr, "1 action of unknown outcome, 1 line unreadable, 1 line changed") || !strings.Contains(got.stdout, "release  unknown") {
		t.Errorf("damaged: %+v", got)
	}
}

// verify notices missing sums and missing last lines.
func TestAStrippedTrailIsNotVerified(t *testing.T) {
	a := startAuditing(t)
	a.act()
	said := a.do(0, "audit", "verify").stdout
	noted := regexp.MustCompile("[0-9a-f]{64}").FindString(said)
	a.do(0, "audit", "verify", "--sum", noted)
	path := filepath.Join(a.env["XDG_STATE_HOME"], "lockscope", "audit.jsonl")
	whole := must.Have(os.ReadFile(path))(t)
	lines := strings.SplitAfter(string(whole), "\n")
	sums := regexp.MustCompile(`,"(prev|sum)":"[0-9a-f]*"`)
	for name, text := range map[string]string{
		"stripped": sums.ReplaceAllString(string(whole), ""),
		"empty":    "",
		"shorter":  strings.Join(lines[:2], ""),
	} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		if got := a.do(1, "audit", "verify", "--sum", noted); !strings.Contains(got.stderr, "lockscope: ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	must.Succeed(t, os.WriteFile(path, []byte(sums.ReplaceAllString(string(whole), "")), 0o600))
	a.do(1, "audit", "verify")
}

// TestProductionAsksWhy: without a terminal to ask on, an action in production needs a reason, which the audit keeps.
func TestProductionAsksWhy(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const value = "YWFhYWFhYWFhYWFhYWFhYQ=="
	must.Succeed(t, server.Mini.Set("lock:a", value))
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "default: prod\nprofiles:\n  prod:\n    targets: [\"redis://" + server.Addr + "\"]\n    environment: production\n"
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	release := []string{"release", "redis:lock:a", "--config", file, "--owner", value, "--yes", "-o", "json"}
	if got := runIn(t, t.Context(), env, release...); got.code != 1 || !strings.Contains(got.stdout, `"reason": "declined"`) || !strings.Contains(got.stderr, "--reason") || !server.Mini.Exists("lock:a") {
		t.Errorf("without a reason: %+v", got)
	}
	runIn(t, t.Context(), env, append(release, "--dry-run")...).wants(t, 0, "", "")
	if got := runIn(t, t.Context(), env, append(release, "--reason", "stuck since noon")...); got.code != 0 || server.Mini.Exists("lock:a") {
		t.Errorf("with a reason: %+v", got)
	}
	if got := runIn(t, t.Context(), env, "audit"); !strings.Contains(got.stdout, "why stuck since noon") {
		t.Errorf("the trail: %+v", got)
	}
}
