package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/backends"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// troubledBackends returns well-known backends with many problems.
func troubledBackends(t testing.TB) *inspect.Snapshot {
	t.Helper()
	b := fixture.Backends()
	zk, redis := b[0], b[1]
	zk.Servers[0].Role, zk.Servers[0].Version, zk.Servers[0].Latency = "leader", "3.8.0", 1200*time.Microsecond
	zk.Servers[0].StartedAt = fixture.Ago(3*time.Hour + 20*time.Minute)
	zk.Cost = inspect.Cost{
		Requests: 12_034, PerSecond: 31, Limit: 50, Watches: 19_214,
		Quickest: 2400 * time.Microsecond, StartQuickest: 1100 * time.Microsecond, Items: 160_250, ItemsPerSecond: 12_000, ItemLimit: 40_000, Bytes: 19 << 20, BytesPerSecond: 1.5 * (1 << 20), ByteLimit: 4 << 20,
	}
	zk.Lost = 2
	zk.Reading = "many reads per request, one watch per directory: 10.1.0.1:2181 does not know addWatch (ZooKeeper 3.6)"
	zk.Findings = []inspect.Finding{{
		Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain, Message: "server 10.1.0.3:2181 does not report its clients",
		Steps: []inspect.Step{
			fixture.Say("add the server's AdminServer to the target (admin=http://HOST:8080), or allow cons, wchs and wchp in 4lw.commands.whitelist"),
		},
	}}
	redis.Error = "redissource: master 10.2.1.5:6379: no answer for 3.2s: dial tcp 10.2.1.5:6379: i/o timeout, although the address could be resolved"
	redis.Cost = inspect.Cost{Requests: 90_112, PerSecond: 160, Limit: 250, Slowed: true, Duty: 0.05}
	redis.Scanned = 4_211
	redis.Findings = []inspect.Finding{
		{Rule: "blind", Severity: inspect.Info, Message: "master 10.2.1.2:6379 is polled, so changes in between are not seen: the server does not speak RESP3", Steps: []inspect.Step{fixture.Say("Redis 6 or later pushes changes")}},
		{Rule: "clock-skew", Severity: inspect.Warning, Message: "the clock of 10.2.1.3:6379 is 4.2 s ahead of ours", Steps: []inspect.Step{fixture.Say("let all servers keep time by NTP")}},
	}
	redis.Mode = inspect.ModePoll
	redis.Servers[0].EvictionPolicy, redis.Servers[0].MaxMemory, redis.Servers[0].Persistence = "allkeys-lru", 512<<20, "aof"
	redis.Servers[0].Version, redis.Servers[0].RunID = "7.0.15", "abcdef0123"
	redis.Servers[2].ClockOffset = 4200 * time.Millisecond
	return fixture.ObservedOf(t, inspect.Update{Backend: zk, Sessions: fixture.SessionTable(fixture.Ann, fixture.Bob)}, inspect.Update{Backend: redis})
}

// inTroubledBackends opens the list of backends, all in trouble.
func inTroubledBackends(t *testing.T, o Options, w, h int) *Model {
	return inBackends(t, o, w, h, troubledBackends(t))
}

func inBackends(t *testing.T, o Options, width, height int, s *inspect.Snapshot, keys ...string) *Model {
	t.Helper()
	return model(t, o, width, height, s, append([]string{"b"}, keys...)...)
}

func backendsOf(m *Model) *backends.Screen { return m.screens[screen.Backends].(*backends.Screen) }

func TestBackendsShowTheirState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		keys []string
		want []string
	}{
		{"a server", []string{"j"}, []string{"leader", "3.8.0", "1.2 ms", "3h20m ago, 2026-05-04 08:40:00 UTC", "31/s of 50/s"}},
		{"a server that was not asked", []string{"j", "j"}, []string{"10.1.0.2:2181", "its AdminServer has it (admin=http://HOST:8080 in the target), and so has mntr"}},
		{"masters that are slow", []string{"j", "j", "j", "j"}, []string{
			"polled: known keys", "160/s of 125/s allowed", "at most 5% of a master's time", "so we halved our rate",
			"clock-skew", "does not speak RESP3", "although the address could be resolved",
		}},
		{"a skewed master that tells little", []string{"G", "k", "k"}, []string{"+4200 ms from ours", "it did not report"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantText(t, inBackends(t, Options{}, 120, 60, troubledBackends(t), test.keys...), test.want...)
		})
	}
}

func TestBackendsKeys(t *testing.T) {
	m := inBackends(t, Options{}, 80, 24, troubledBackends(t))
	press(m, "G")
	must.Equal(t, backendsOf(m).Current, (backends.ServerKey{Backend: "redis", Server: 4}), "selected")
	wantNoText(t, m, "NTP")
	keysShow(t, m, "tab G", "NTP", "lines ")
	press(m, "esc", "g")
	must.Equal(t, backendsOf(m).Current, (backends.ServerKey{Backend: "zk", Server: -1}), "selected")
	wantText(t, m, "zookeeper, connected: ")
	keysShow(t, m, "/ leader", "10.1.0.1:2181")
	wantNoText(t, m, "10.1.0.2:2181", "10.2.1.1:6379")
	keysHide(t, m, "esc esc", "▸ backends")
	press(m, "b")
	send(m, tea.MouseClickMsg{X: 4, Y: len(frame{m}.head()) + 3, Button: tea.MouseLeft})
	must.Equal(t, backendsOf(m).Current, (backends.ServerKey{Backend: "zk", Server: 0}), "a click selected")
}

// The cursor stays on its server when others come before it.
func TestBackendSelectionFollows(t *testing.T) {
	m := inBackends(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends()[1:], nil))
	press(m, "j", "j")
	deliver(m, snapshotOf())
	s := backendsOf(m)
	r, _ := s.Row()
	must.Equal(t, r.Server.Addr, "10.2.1.2:6379")
}

func TestBackendsOpenAtTheLocksBackend(t *testing.T) {
	m := opened(t, Options{}, 80, 24, fixture.Thin().ID, "b")
	must.Equal(t, backendsOf(m).Current, backends.ServerKey{Backend: "redis", Server: -1})
}

func TestBackendsSayWhyThereAreNone(t *testing.T) {
	m := inBackends(t, Options{}, 80, 24, nil)
	wantText(t, m, "No server has answered yet")
	press(m, "/", "zzz")
	wantText(t, inBackends(t, Options{}, 80, 24, troubledBackends(t), "/", "zzz"), "No server matches")
}

// Warnings are visible without colour, and errors do not show the names of our packages.
func TestBackendWarningsHaveMarks(t *testing.T) {
	at := fixture.Backends()
	at[1].Servers[0].ClockKnown, at[1].Servers[0].ClockOffset = true, -4200*time.Millisecond
	at[0].Servers[0].Role, at[0].Servers[0].Lagging, at[0].Servers[0].Lag = "follower", true, 12*time.Second
	at[1].Error = "redissource: connection lost\nredissource: master a:1: EOF"
	m := model(t, Options{}, 200, 50, inspect.NewSnapshot(fixture.Noon, at, nil))
	keysShow(t, m, "b", "▲-4200 ms", "▲ over 10s behind")
	keysShow(t, m, "down", "▲ its leader by over 10s")
	keysShow(t, m, "up down down down down", "connection lost", "master a:1: EOF")
	wantNoText(t, m, "redissource", `\u{a}`)
}

// A backend shows its target, and how to give it a name.
func TestBackendsNameTheirTarget(t *testing.T) {
	second, own := *fixture.Backends()[1], *fixture.Backends()[1]
	second.Name, second.Reach.Target = "redis2", "redis://10.2.1.9:6379/1"
	own.Name, own.Reach.Target = "cache", "redis://10.2.1.9:6379?name=cache"
	m := model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{&second}, nil))
	keysShow(t, m, "b", "redis://10.2.1.9:6379/1 (?name=NAME gives it its own name)")
	m = model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{&own}, nil))
	keysShow(t, m, "b", "redis://10.2.1.9:6379?name=cache")
	wantNoText(t, m, "NAME")
}
