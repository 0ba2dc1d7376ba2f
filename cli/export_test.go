package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect/metrics"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// exporting starts the command export on a free port, with its state in a directory, and returns what a
// scrape gives. It ends with the test.
func exporting(t *testing.T, state string, args ...string) (scrape func(path string) (int, string)) {
	t.Helper()
	return exportingIn(t, map[string]string{"XDG_STATE_HOME": state}, args...)
}

func exportingIn(t *testing.T, env map[string]string, args ...string) (scrape func(path string) (int, string)) {
	t.Helper()
	addr := exportingAt(t, env, args...)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	return func(path string) (int, string) {
		resp := must.Have(client.Get("http://" + addr + path))(t)
		defer resp.Body.Close()
		text := must.Have(io.ReadAll(resp.Body))(t)
		return resp.StatusCode, string(text)
	}
}

func exportingAt(t *testing.T, env map[string]string, args ...string) (addr string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr output
	done := make(chan int, 1)
	go func() {
		done <- Main(ctx, append([]string{"export", "--listen", "127.0.0.1:0"}, args...), app.Environment{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
			Getenv: func(name string) string { return env[name] },
		})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("exit %d: %s", code, stderr.String())
		}
	})
	serving := regexp.MustCompile(`serving http://(\S+)/metrics`)
	must.Become(t, "it serves", func() bool {
		m := serving.FindStringSubmatch(stderr.String())
		if m != nil {
			addr = m[1]
		}
		return m != nil
	})
	return addr
}

func TestExportServesWhatIsSeen(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	c := server.Client(t)
	must.Succeed(t, c.Set(t.Context(), "lock:kept", "3q2+7wAAAAAAAAAAAAAAAA==", 0).Err())
	state := t.TempDir()
	scrape := exporting(t, state, "redis://"+server.Addr, "redis://127.0.0.1:1?name=gone")
	must.Become(t, "both are known", func() bool { code, _ := scrape("/readyz"); return code == 200 })
	var text string
	must.Become(t, "the finding comes", func() bool { _, text = scrape("/metrics"); return strings.Contains(text, "lockscope_lock_finding{") })
	for _, want := range []string{
		`lockscope_backend_state{backend="redis",service="redis",state="connected"} 1`,
		`lockscope_backend_state{backend="gone",service="redis",state="down"} 1`,
		`lockscope_locks{backend="redis",kind="mutex",state="held"} 1`,
		`lockscope_findings{backend="redis",muted="false",rule="no-ttl",severity="warning"} 1`,
		`lockscope_lock_finding{lock="redis:lock:kept",rule="no-ttl",severity="warning"} 1`,
		`lockscope_queue_length_count{backend="redis"} 1`,
		`lockscope_grants_total{backend="redis"} 0`, "lockscope_build_info{", "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	// Of a backend that is down nothing is known: no sample, not 0.
	for _, name := range []string{"locks", "queue_length_count", "grants_total", "oldest_hold_seconds", "findings"} {
		if strings.Contains(text, "lockscope_"+name+`{backend="gone"`) {
			t.Errorf("%s of a backend that is down: %s", name, text)
		}
	}
	if got := runIn(t, t.Context(), map[string]string{"XDG_STATE_HOME": state}, "mute", "redis:lock:kept", "no-ttl", "--for", "1h", "--reason", "known"); got.code != 0 {
		t.Fatalf("mute: %+v", got)
	}
	must.Become(t, "what is muted meanwhile is counted apart", func() bool {
		_, text = scrape("/metrics")
		return strings.Contains(text, `lockscope_findings{backend="redis",muted="true",rule="no-ttl",severity="warning"} 1`) && !strings.Contains(text, "lockscope_lock_finding{")
	})
	must.Succeed(t, c.Set(t.Context(), "lock:new", "4q2+7wAAAAAAAAAAAAAAAA==", time.Minute).Err())
	must.Become(t, "a grant is counted", func() bool {
		_, text = scrape("/metrics")
		return strings.Contains(text, `lockscope_grants_total{backend="redis"} 1`)
	})
	if promtool := tool(t, "promtool"); promtool != "" {
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = strings.NewReader(ourMetrics(text))
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v: %s", err, said)
		}
	}
}

func ourMetrics(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "lockscope_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// tool is the path of a program that only tests need; its absence is reported, and a failure where real
// servers are required.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("LOCKSCOPE_REAL") == "require":
		t.Errorf("%s is not installed, and LOCKSCOPE_REAL=require: install it with `make deps`", name)
	default:
		t.Logf("NOT CHECKED: %s is not installed (`make deps` installs it)", name)
	}
	return ""
}

func TestExportRefusesBadUse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"export", "redis://127.0.0.1:1", "--listen", "nowhere"},
		{"export", "redis://127.0.0.1:1", "--lock-series", "-1"},
		{"export", "redis://127.0.0.1:1", "--listen", "256.0.0.1:1"},
	} {
		if got := run(t, args...); got.code != app.ExitUsage || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

var metricName = regexp.MustCompile(`lockscope_[a-z_]+`)

// Alerts, dashboard and page name metrics that there are, and the page all of them.
func TestWhatIsShippedForMonitoringFits(t *testing.T) {
	known := map[string]bool{"lockscope_build_info": true}
	descriptions := make(chan *prometheus.Desc, 100)
	metrics.New(time.Now, 1).Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		known[metricName.FindString(d.String())] = true
	}
	for _, file := range []string{"../deploy/prometheus/lockscope.rules.yml", "../deploy/prometheus/lockscope.rules_test.yml", "../deploy/grafana/lockscope.json", "../docs/monitoring.md"} {
		text := must.Have(os.ReadFile(file))(t)
		for _, name := range metricName.FindAllString(string(text), -1) {
			if !known[strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")] {
				t.Errorf("%s names %s, which is not served", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
		for name := range known {
			if strings.HasSuffix(file, ".md") && !strings.Contains(string(text), fmt.Sprintf("`%s`", name)) {
				t.Errorf("%s does not have %s", file, name)
			}
		}
	}
}

// The alert rules are right by Prometheus' own checker, and fire as their tests say.
func TestTheAlertRulesFire(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	if promtool == "" {
		return
	}
	for _, args := range [][]string{{"check", "rules", "lockscope.rules.yml"}, {"test", "rules", "lockscope.rules_test.yml"}} {
		check := exec.CommandContext(t.Context(), promtool, args...)
		check.Dir = "../deploy/prometheus"
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v: %s", strings.Join(args, " "), err, said)
		}
	}
}

func TestALocalExporterKnowsNoNames(t *testing.T) {
	t.Parallel()
	addr := exportingAt(t, map[string]string{"XDG_STATE_HOME": t.TempDir()}, "redis://127.0.0.1:1")
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for host, want := range map[string]int{
		addr: http.StatusOK, "localhost:9487": http.StatusOK, "[::1]:9487": http.StatusOK, "10.0.0.1": http.StatusOK,
		"page.example": http.StatusMisdirectedRequest, "localhost.example:9487": http.StatusMisdirectedRequest,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, response.StatusCode, want)
		}
	}
}
