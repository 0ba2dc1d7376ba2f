package describe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestAges(t *testing.T) {
	for _, tt := range []struct {
		d                            time.Duration
		age, seconds, limit, exactly string
	}{
		{-time.Second, "0.0s", "0s", "0ms", "-1s"},
		{time.Second, "1.0s", "1s", "1.0s", "1s"},
		{10 * time.Second, "10s", "10s", "10s", "10s"},
		{time.Minute, "1m00s", "1m00s", "1m", "1m"},
		{65 * time.Second, "1m05s", "1m05s", "1m05s", "1m5s"},
		{time.Hour, "1h00m", "1h00m", "1h", "1h"},
		{24 * time.Hour, "1d00h", "1d00h", "1d", "24h"},
		{240 * time.Hour, "10d", "10d", "10d", "240h"},
		{812 * time.Millisecond, "0.8s", "0s", "812ms", "812ms"},
		{2190 * time.Millisecond, "2.1s", "2s", "2.1s", "2.19s"},
		{12500 * time.Millisecond, "12s", "12s", "12s", "12.5s"},
		{10 * time.Minute, "10m00s", "10m00s", "10m", "10m"},
		{90 * time.Minute, "1h30m", "1h30m", "1h30m", "1h30m"},
		{2 * time.Hour, "2h00m", "2h00m", "2h", "2h"},
		{102 * time.Hour, "4d06h", "4d06h", "4d06h", "102h"},
		{41 * 24 * time.Hour, "41d", "41d", "41d", "984h"},
	} {
		must.Same(t, []string{Age(tt.d), Seconds(tt.d), Limit(tt.d), Exact(tt.d)}, []string{tt.age, tt.seconds, tt.limit, tt.exactly}, tt.d)
		must.Equal(t, InTenths(tt.d), tt.age != tt.seconds && tt.d > 0, tt.d)
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 lock": Count(1, "lock"), "2 locks": Count(2, "lock"), "3 watches": Count(3, "watch"), "0 directories": Count(0, "directory"),
		"2 keys": Count(2, "key"), "2 client sessions": Count(2, "client session"), "2 passes": Count(2, "pass"),
	} {
		must.Equal(t, got, want)
	}
}

func TestCauseNamesNoAddress(t *testing.T) {
	for text, want := range map[string]string{
		"redissource: master 10.0.0.1:6379: dial tcp 10.0.0.1:6379: connect: connection refused": "connection refused",
		"redissource: master 10.0.0.1:6379: no answer within 2s":                                 "no answer within 2s",
		"something else": "something else",
		"redissource: connection lost\ndial tcp: i/o timeout": "connection lost: dial tcp: i/o timeout",
		"": "",
	} {
		must.Equal(t, Cause(text, "10.0.0.1:6379"), want, text)
	}
	b := &inspect.Backend{
		Error:   "redissource: master a:1: dial tcp a:1: connect: connection refused\nredissource: master b:1: EOF",
		Servers: []inspect.Server{{Addr: "a:1"}, {Addr: "b:1"}},
	}
	must.Equal(t, briefError(b), "a:1: connection refused; b:1: EOF")
}

// A pasted value must be one word in any shell: zsh looks up a command after a leading =.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"zk:/locks/orders": "zk:/locks/orders", "Y2Nj==": "Y2Nj==", "=ls": "'=ls'", "": "''", "it's": `'it'\''s'`, "a b": "'a b'", "$(reboot)": "'$(reboot)'",
	} {
		must.Equal(t, Quote(text), want, text)
	}
}

// zkCli.sh passes its arguments on unchanged, so a path with a space is one.
func TestLookAtPathsWithSpaces(t *testing.T) {
	l := &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/locks/a b"}}
	want := []Command{
		{"zkCli", "zkCli.sh -server z:1 ls '/locks/a b'"}, {"zkCli", `zkCli.sh -server z:1 get -s '/locks/a b/it'\''s'`},
	}
	must.NoDiff(t, cmp.Diff(want, Look(inspect.ZooKeeper, l, &inspect.Contender{Name: "it's"}, "-server z:1")))
}

func TestSeverityOrder(t *testing.T) {
	findings := []inspect.Finding{{Rule: "a", Severity: inspect.Info}, {Rule: "b", Severity: inspect.Critical}, {Rule: "c", Severity: inspect.Warning}, {Rule: "d", Severity: inspect.Critical}}
	findings = append([]inspect.Finding{{Rule: "muted", Severity: inspect.Critical, Muted: &inspect.Muted{}}}, findings...)
	must.Equal(t, Worst(findings).Rule, "b", "the worst is")
	must.Equal(t, Worst(nil), nil, "the worst of no findings")
	slices.SortStableFunc(findings, WorstFirst)
	order := ""
	for _, f := range findings {
		order += f.Rule
	}
	must.Equal(t, order, "bdcamuted", "ordered")
	levels := ""
	for _, list := range [][]inspect.Finding{nil, {{Severity: inspect.Info}}, {{Severity: inspect.Warning}}, {{Severity: inspect.Critical}}, findings[4:]} {
		for _, state := range States() {
			levels += fmt.Sprint(LevelOf(&inspect.Lock{State: state, Findings: list}))
		}
		levels += " "
	}
	must.Equal(t, levels, "013222 013222 444444 555555 013222 ", "levels by state")
}

func TestReasonsNameTheMissingRight(t *testing.T) {
	u := inspect.Unseen{Aspect: inspect.AspectHolders, Where: "r1:6379", Read: "HGETALL lock\x1b", Reason: "NOPERM \x1b[31m", Right: "+hgetall"}
	want := `HGETALL lock\u{1b} on r1:6379: NOPERM \u{1b}[31m (allow +hgetall)`
	must.Equal(t, Reason(u), want)
	l := &inspect.Lock{State: inspect.StateUnknown, Unseen: []inspect.Unseen{{Aspect: inspect.AspectSessions, Reason: "no"}, u, u}}
	must.Equal(t, (View{Snapshot: inspect.NewSnapshot(time.Now(), nil, nil)}).Verdict(l), "unknown: "+want, "verdict")
}

// The texts for each refusal and for each unknown aspect.
func TestRefusalsAndAspectsInWords(t *testing.T) {
	var lines []string
	for _, reason := range []string{"not-holder", "changed", "ignored", "gone", "declined", "two-leaders", "no-quorum", "audit", "read-only", ""} {
		lines = append(lines, reason+": "+Refusal(reason))
	}
	for _, a := range []inspect.Aspect{
		inspect.AspectLocks, inspect.AspectKind, inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectExpiry, inspect.AspectVotes,
		inspect.AspectWatches, inspect.AspectSessions, inspect.AspectOwner, inspect.AspectServer, inspect.AspectChanges, "new",
	} {
		lines = append(lines, string(a)+": "+Aspect(a))
	}
	want := strings.Split(strings.TrimSpace(string(must.Have(os.ReadFile("testdata/words.txt"))(t))), "\n")
	must.NoDiff(t, cmp.Diff(want, lines))
}

func TestEvidence(t *testing.T) {
	got := Evidence(map[string]any{
		"cause": "x", "locks": []string{"a"}, "waiters": 3, "owner": "w", "never_expires": true, "libraries": map[string]int{"kazoo": 1, "curator": 2},
		"servers": []any{map[string]any{"offset_ms": 1204.0, "addr": "h:1", "latency_ms": 0.4}}, "nothing": nil, "empty": []string{},
		"expires_at": time.Date(2026, 5, 4, 12, 0, 7, 0, time.UTC), "held_since": time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC),
		"value":      "2026-05-04T09:00:00Z", // that is its text, whatever it looks like
		"odd_name\a": "\x1b[2J", "every_ms": int64(650), "sessions": []string{"0x1", "0x2"},
		"ahead_ms": -1204.0, "late_ms": 10, "up": false, "votes": []any{map[string]any{"addr": "m:1", "says": "absent"}}, "bad": func() {},
		"held_over": "1m", "known": "at-least", "blocked_below": 2, "count": 1,
	}, time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), "cause", "locks")
	want := []Fact{
		{"owner", []string{"w"}},
		{"held since", []string{"3h00m ago (09:00:00)"}},
		{"ahead", []string{"-1.2s"}},
		{"waiters behind it", []string{"2"}},
		{"every", []string{"650ms"}},
		{"expires", []string{"in 7s (12:00:07)"}},
		{"late", []string{"10ms"}},
		{"libraries", []string{"curator 2, kazoo 1"}},
		{"never expires", []string{"yes"}},
		{`odd name\u{7}`, []string{`\u{1b}[2J`}},
		{"servers", []string{"h:1 latency 0.4ms, offset 1.2s"}},
		{"sessions", []string{"0x1, 0x2"}},
		{"up", []string{"no"}},
		{"value", []string{"2026-05-04T09:00:00Z"}},
		{"votes", []string{"m:1 absent"}},
		{"waiters", []string{"3"}},
	}
	must.NoDiff(t, cmp.Diff(want, got))
	must.Equal(t, Why(&inspect.Finding{Evidence: map[string]any{"cause": "x"}})+Why(&inspect.Finding{}), "x", "cause")
}

// A MAC address, which all programs of a host share, names no client.
func TestOwnerIgnoresMACAddress(t *testing.T) {
	for host, want := range map[inspect.Untrusted][2]string{
		"worker-1": {"worker-1", "host"}, "02:fc:00:00:00:01": {"9790ad66", "MAC address"}, "02:fc:00:00:00:zz": {"02:fc:00:00:00:zz", "host"},
		"": {"9790ad66", "host"},
	} {
		c := &inspect.Contender{Name: "9790ad66", Owner: inspect.Owner{Process: inspect.Process{Host: host}}}
		must.Equal(t, [2]string{Owner(c), Host(&c.Owner)}, want, host)
	}
}

// A value that counts shared holders names no client.
func TestCountIsNotAName(t *testing.T) {
	now := time.Unix(1763715600, 0)
	for value, want := range map[inspect.Untrusted]string{"2": "2 shared holders", "1": "1 shared holder", "worker-2": "worker-2 holds it"} {
		l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:files/a"}, []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: value, NoExpiry: true}}, now)
		view := View{Snapshot: inspect.NewSnapshot(now, nil, []*inspect.Lock{l}), Now: now}
		must.Contain(t, view.Verdict(l), want, value)
		must.Equal(t, strings.Contains(view.Verdict(l), "holds it"), !strings.Contains(want, "shared"), value, "holds it")
		must.Contain(t, view.Standing(l), want, value)
	}
	l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:a"}, []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "7", NoExpiry: true}}, now)
	view := View{Snapshot: inspect.NewSnapshot(now, nil, []*inspect.Lock{l}), Now: now}
	for _, got := range []string{view.Verdict(l), view.Standing(l)} {
		must.Contain(t, got, "an unknown client holds it", "7")
	}
}

// Errors of several servers are joined on one line, and none reaches a terminal unescaped.
func TestSeveralErrorsAreOneLine(t *testing.T) {
	err := errors.Join(errors.New("master a: refused"), errors.New("master b: \x1b[31mred"))
	must.Equal(t, OneLine(err), `master a: refused; master b: \u{1b}[31mred`)
}

func TestRenewalInWords(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for want, r := range map[string]inspect.Renewal{
		"":                                      {},
		"renewed 3.0s ago":                      {Count: 1, Last: now.Add(-3 * time.Second)},
		"renewed every 10s, 3.0s ago":           {Count: 2, Every: 10 * time.Second, Last: now.Add(-3 * time.Second)},
		"renewed every 10s, 3.0s ago, 2 missed": {Count: 9, Every: 10 * time.Second, Last: now.Add(-3 * time.Second), Skipped: 2},
	} {
		must.Equal(t, Renewal(&inspect.History{Renewal: r}, now), want, r)
	}
	must.Equal(t, Renewal(nil, now), "", "without a watched renewal")
}

func TestSharedDomain(t *testing.T) {
	for hosts, want := range map[string]string{
		"app-1.prod.acme.net:4001 app-2.prod.acme.net:4002":             ".prod.acme.net",
		"app-1.prod.acme.net:4001 batch.test.acme.net 10.0.0.1:4003":    ".acme.net",
		"app-1.prod.acme.net:4001 app-1.prod.acme.net:4002":             "", // one host only
		"app-1.prod.acme.net worker-3 10.0.0.1:53122 app-2.example.com": "",
		"10.0.0.1:4001 10.0.0.2:4002":                                   "",
		"a.acme.net. b.acme.net. .acme.net a\\b.acme.net a/b.acme.net":  "",
		"prod.acme.net a.prod.acme.net":                                 ".acme.net",
	} {
		var locks []*inspect.Lock
		for _, host := range strings.Fields(hosts) {
			holder := inspect.Contender{Name: "c", State: inspect.Holding, Owner: inspect.Owner{Client: host}}
			locks = append(locks, &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/" + host}, Holders: []inspect.Contender{holder}})
		}
		must.Equal(t, SharedDomain(inspect.NewSnapshot(time.Now(), nil, locks)), want, hosts, "share")
	}
}
