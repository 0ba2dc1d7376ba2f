package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// threeMasters of one Redlock, with a lock on all of them, and their target.
func threeMasters(t *testing.T) (masters []*servertest.Redis, target string) {
	t.Helper()
	var addrs []string
	for range 3 {
		s := servertest.StartEmbeddedRedis(t)
		must.Succeed(t, s.Client(t).Set(t.Context(), "lock:a", "Y2NjY2NjY2NjY2NjY2NjYw==", time.Hour).Err())
		masters, addrs = append(masters, s), append(addrs, s.Addr)
	}
	return masters, "redis://" + strings.Join(addrs, ",")
}

// noQuorum returns the finding no-quorum; without one its severity is empty.
func (d diagnosis) noQuorum() reportedFinding {
	i := slices.IndexFunc(d.all, func(f reportedFinding) bool { return f.Rule == "no-quorum" })
	if i < 0 {
		return reportedFinding{}
	}
	return d.all[i]
}

// Masters that refuse our password serve others: a part of the backend is not seen, and no alarm is raised.
func TestARefusedLoginIsNoLostQuorum(t *testing.T) {
	t.Parallel()
	masters, target := threeMasters(t)
	for _, m := range masters[1:] {
		m.Mini.RequireAuth("changed")
	}
	if d := doctor(t, target); d.code != app.ExitUnreachable || d.noQuorum().Rule != "" {
		t.Errorf("exit %d: %+v", d.code, d.all)
	}
	scrape := exporting(t, t.TempDir(), target)
	must.Become(t, "the backend is degraded", func() bool {
		_, text := scrape("/metrics")
		return strings.Contains(text, `lockscope_backend_state{backend="redis",service="redis",state="degraded"} 1`)
	})
	for i, m := range masters {
		_, text := scrape("/metrics")
		if has := strings.Contains(text, "lockscope_server_up{backend=\"redis\",server=\""+m.Addr+"\"} "); has != (i == 0) {
			t.Errorf("server_up of master %d: %v", i, has)
		}
	}
}

// An exporter says which masters are down and that a quorum is lost.
func TestALostQuorumIsExported(t *testing.T) {
	t.Parallel()
	masters, target := threeMasters(t)
	scrape := exporting(t, t.TempDir(), target)
	up := func(i int, value string) string {
		return "lockscope_server_up{backend=\"redis\",server=\"" + masters[i].Addr + "\"} " + value + "\n"
	}
	has := func(lines ...string) func() bool {
		return func() bool {
			_, text := scrape("/metrics")
			return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(text, line) })
		}
	}
	must.Become(t, "all are up", has(up(0, "1"), up(1, "1"), up(2, "1")))
	masters[1].Stop(t)
	masters[2].Stop(t)
	must.Become(t, "two are down", has(up(0, "1"), up(1, "0"), up(2, "0"),
		`lockscope_findings{backend="redis",muted="false",rule="no-quorum",severity="critical"} 1`))
}

// An ensemble of which one member is left says itself that it has no quorum.
func TestAnEnsembleThatLostItsQuorumIsAnAlarm(t *testing.T) {
	t.Parallel()
	var addrs []string
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	target := "zk://" + strings.Join(addrs, ",")
	if f := doctor(t, target).noQuorum(); f.Rule != "" {
		t.Errorf("all are there: %+v", f)
	}
	servers[2].Kill(t)
	must.Become(t, "one more failure would do it", func() bool { return doctor(t, target).noQuorum().Severity == "warning" })
	servers[1].Kill(t)
	must.Become(t, "no quorum is left", func() bool {
		d := doctor(t, target, "--timeout", "5s")
		return d.noQuorum().Severity == "critical" && d.code == app.ExitNo
	})
}
