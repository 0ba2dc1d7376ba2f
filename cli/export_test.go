package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockscope/lockscope/inspect/metrics"
	"github.com/lockscope/lockscope/internal/must"
)

// exportingAt starts an export that ends with the test, and returns its address.
func exportingAt(t *testing.T, env map[string]string, args ...string) (addr string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr output
	done := make(chan int, 1)
	go func() {
		args = append([]string{"export", "--listen", "127.0.0.1:0"}, args...)
		done <- Main(ctx, args, writingTo(&stdout, &stderr, env))
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

// tool returns the path of a program that only tests need, or an empty string if it is missing. The
// test then fails if LOCKSCOPE_REAL=require.
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

var metricName = regexp.MustCompile(`lockscope_[a-z_]+`)

func TestShippedAlertsMatchTheMetrics(t *testing.T) {
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
			t.Errorf("%s is not JSON", file)
		}
		for name := range known {
			if strings.HasSuffix(file, ".md") && !strings.Contains(string(text), fmt.Sprintf("`%s`", name)) {
				t.Errorf("%s lacks %s", file, name)
			}
		}
	}
}

// promtool checks the alert rules and runs their tests.
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
