package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// Prometheus and Alertmanager, with our rules, send an alert for each kind of fault.
func TestFaultsReachTheReceiver(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	prometheus, alertmanager := tool(t, "prometheus"), tool(t, "prometheus-alertmanager")
	if prometheus == "" || alertmanager == "" {
		return
	}
	zookeeper := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	masters := []*servertest.Redis{servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t)}
	for _, master := range masters {
		must.Succeed(t, master.Client(t).Set(t.Context(), "lock:kept", "3q2+7wAAAAAAAAAAAAAAAA==", time.Hour).Err())
	}
	redis := "redis://" + masters[0].Addr + "," + masters[1].Addr + "," + masters[2].Addr

	received := new(receivedAlerts)
	receiver := httptest.NewServer(received)
	t.Cleanup(receiver.Close)
	exporter := exportingAt(t, map[string]string{"XDG_STATE_HOME": t.TempDir()}, "--stuck-after", "1s", "zk://"+zookeeper.Addr, redis)
	must.Become(t, "both backends are read", func() bool {
		resp, err := http.Get("http://" + exporter + "/readyz")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	brief := stuckAndHidden(t, zookeeper.Addr)
	prom := monitored(t, prometheus, alertmanager, exporter, receiver.URL)

	must.Become(t, "a stuck lock is reported", func() bool { return received.has("LockWarning", "stuck-holder") })
	must.Succeed(t, brief.Unlock())
	must.Become(t, "a blind spot is reported", func() bool { return received.has("LocksNotSeen", "zk") })
	masters[0].Stop(t)
	must.Become(t, "a dead server is reported", func() bool { return received.has("LockServerDown", masters[0].Addr) })
	masters[1].Stop(t)
	must.Become(t, "a lost quorum is reported", func() bool { return received.has("LockNoQuorum", "redis") })

	dashboard := must.Have(os.ReadFile("../deploy/grafana/lockscope.json"))(t)
	for _, m := range regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllSubmatch(dashboard, -1) {
		var query string
		must.Succeed(t, json.Unmarshal(m[1], &query))
		query = strings.ReplaceAll(query, "$backend", ".*")
		must.Become(t, query+" returns data", func() bool { return hasData(t, prom, query) })
	}
}

// stuckAndHidden makes a held lock with a waiter, an unreadable directory, and another held lock,
// which it returns.
func stuckAndHidden(t *testing.T, addr string) *zk.Lock {
	t.Helper()
	client := func() *zk.Conn { return servertest.ConnectZooKeeper(t, addr, 30*time.Second) }
	holder, waiter := client(), client()
	open := zk.WorldACL(zk.PermAll)
	brief := zk.NewLock(holder, "/locks/brief", open)
	for _, lock := range []*zk.Lock{brief, zk.NewLock(holder, "/locks/stuck", open)} {
		must.Succeed(t, lock.Lock())
	}
	go func() { _ = zk.NewLock(waiter, "/locks/stuck", open).Lock() }() // blocks until its connection is closed
	must.Succeed(t, holder.AddAuth("digest", []byte("owner:secret")))
	for _, node := range []string{"/locks/hidden", "/locks/hidden/child"} {
		must.Have(holder.Create(node, nil, 0, zk.DigestACL(zk.PermAll, "owner", "secret")))(t)
	}
	return brief
}

// monitored runs Prometheus with our rules and an Alertmanager, and returns Prometheus' address.
// Every rule fires within a second.
func monitored(t *testing.T, prometheus, alertmanager, exporter, receiver string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rules := must.Have(os.ReadFile("../deploy/prometheus/lockscope.rules.yml"))(t)
	write("rules.yml", regexp.MustCompile(`(?m)^(\s+for:) \S+$`).ReplaceAllString(string(rules), "$1 1s"))
	routes := write("alertmanager.yml", fmt.Sprintf(`
route: {receiver: test, group_by: [...], group_wait: 0s, group_interval: 1s}
receivers: [{name: test, webhook_configs: [{url: %q}]}]
`, receiver))
	am := servertest.StartWeb(t, alertmanager, "/-/ready", func(addr string) []string {
		return []string{"--config.file=" + routes, "--storage.path=" + dir, "--cluster.listen-address=", "--web.listen-address=" + addr}
	})
	config := write("prometheus.yml", fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: lockscope, static_configs: [{targets: [%q]}]}]
`, am, exporter))
	return servertest.StartWeb(t, prometheus, "/-/ready", func(addr string) []string {
		return []string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + addr}
	})
}

func hasData(t *testing.T, prometheus, query string) bool {
	t.Helper()
	resp := must.Have(http.Get("http://" + prometheus + "/api/v1/query?query=" + url.QueryEscape(query)))(t)
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", query, err, answer.Error)
	}
	return len(answer.Data.Result) > 0
}

// receivedAlerts collects what Alertmanager posts: the labels of each alert, as text.
type receivedAlerts struct {
	mu     sync.Mutex
	alerts []string
}

func (r *receivedAlerts) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	var message struct {
		Alerts []struct{ Labels map[string]string }
	}
	if json.NewDecoder(request.Body).Decode(&message) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, alert := range message.Alerts {
		r.alerts = append(r.alerts, fmt.Sprint(alert.Labels))
	}
}

// has reports whether an alert has a label with this value.
func (r *receivedAlerts) has(name, value string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, labels := range r.alerts {
		if strings.Contains(labels, "alertname:"+name+" ") && strings.Contains(labels, ":"+value) {
			return true
		}
	}
	return false
}
