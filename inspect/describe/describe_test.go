package describe

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0ms": -time.Second, "812ms": 812 * time.Millisecond, "2.1s": 2190 * time.Millisecond, "59s": 59900 * time.Millisecond,
		"14m02s": 14*time.Minute + 2*time.Second, "3h05m": 3*time.Hour + 5*time.Minute, "4d06h": 102 * time.Hour,
	} {
		if got := Span(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for _, tt := range []struct {
		d                            time.Duration
		age, seconds, limit, exactly string
	}{
		{-time.Second, "0.0s", "0s", "0ms", "-1s"},
		{812 * time.Millisecond, "0.8s", "0s", "812ms", "812ms"},
		{2190 * time.Millisecond, "2.1s", "2s", "2.1s", "2.19s"},
		{12500 * time.Millisecond, "12s", "12s", "12s", "12.5s"},
		{10 * time.Minute, "10m00s", "10m00s", "10m", "10m"},
		{90 * time.Minute, "1h30m", "1h30m", "1h30m", "1h30m"},
		{2 * time.Hour, "2h00m", "2h00m", "2h", "2h"},
		{102 * time.Hour, "4d06h", "4d06h", "4d06h", "102h"},
		{41 * 24 * time.Hour, "41d", "41d", "41d", "984h"},
	} {
		if got := [...]string{Age(tt.d), Seconds(tt.d), Limit(tt.d), Exact(tt.d)}; got != [...]string{tt.age, tt.seconds, tt.limit, tt.exactly} {
			t.Errorf("%v: %q", tt.d, got)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 lock": Count(1, "lock"), "2 locks": Count(2, "lock"), "3 watches": Count(3, "watch"), "0 directories": Count(0, "directory"),
		"2 keys": Count(2, "key"), "2 client sessions": Count(2, "client session"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
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
		if got := Cause(text, "10.0.0.1:6379"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	b := &inspect.Backend{
		Error:   "redissource: master a:1: dial tcp a:1: connect: connection refused\nredissource: master b:1: EOF",
		Servers: []inspect.Server{{Addr: "a:1"}, {Addr: "b:1"}},
	}
	if got, want := briefError(b), "a:1: connection refused; b:1: EOF"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A pasted value must be one word in any shell: zsh looks up a command behind a leading =.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"zk:/locks/orders": "zk:/locks/orders", "Y2Nj==": "Y2Nj==", "=ls": "'=ls'", "": "''", "it's": `'it'\''s'`, "a b": "'a b'", "$(reboot)": "'$(reboot)'",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// zkCli.sh hands its arguments on as they are, so that a path with a blank is one.
func TestLookAtPathsWithBlanks(t *testing.T) {
	l := &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/locks/a b"}}
	want := []Command{
		{"zkCli", "zkCli.sh -server z:1 ls '/locks/a b'"}, {"zkCli", `zkCli.sh -server z:1 get -s '/locks/a b/it'\''s'`},
	}
	if diff := cmp.Diff(want, Look(inspect.ZooKeeper, l, &inspect.Contender{Name: "it's"}, "-server z:1")); diff != "" {
		t.Error(diff)
	}
}

func TestSeverityOrder(t *testing.T) {
	findings := []inspect.Finding{{Rule: "a", Severity: inspect.Info}, {Rule: "b", Severity: inspect.Critical}, {Rule: "c", Severity: inspect.Warning}, {Rule: "d", Severity: inspect.Critical}}
	if got := Worst(findings).Rule; got != "b" {
		t.Errorf("the worst is %s", got)
	}
	if Worst(nil) != nil {
		t.Error("nothing has a worst finding")
	}
	slices.SortStableFunc(findings, WorstFirst)
	order := ""
	for _, f := range findings {
		order += f.Rule
	}
	if order != "bdca" {
		t.Errorf("ordered %s", order)
	}
	l := &inspect.Lock{State: inspect.StateMinority}
	if got := LevelOf(l); got != LevelUnknown {
		t.Errorf("a minority of which nothing was found is at level %d", got)
	}
	l.Findings = findings
	if got := LevelOf(l); got != LevelCritical {
		t.Errorf("a critical finding is at level %d", got)
	}
}

func TestReasonsNameTheMissingRight(t *testing.T) {
	u := inspect.Unseen{Aspect: inspect.AspectHolders, Where: "r1:6379", Read: "HGETALL lock\x1b", Reason: "NOPERM \x1b[31m", Right: "+hgetall"}
	want := `HGETALL lock\u{1b} on r1:6379: NOPERM \u{1b}[31m (allow +hgetall)`
	if got := Reason(u); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l := &inspect.Lock{State: inspect.StateUnknown, Unseen: []inspect.Unseen{{Aspect: inspect.AspectSessions, Reason: "no"}, u, u}}
	if got := (View{Snapshot: inspect.NewSnapshot(time.Now(), nil, nil)}).Verdict(l); got != "unknown: "+want {
		t.Errorf("verdict %q", got)
	}
}

// Every reason of a refusal has its own words.
func TestRefusals(t *testing.T) {
	reported := map[string]bool{}
	for _, reason := range []string{"not-holder", "changed", "gone", "declined", "no-quorum", "audit", "read-only", ""} {
		if text := Refusal(reason); reported[text] {
			t.Errorf("%s: %q is said of two", reason, text)
		} else {
			reported[text] = true
		}
	}
}

func TestVerdict(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	holder := inspect.Contender{Name: "a", State: inspect.Holding, Owner: inspect.Owner{Label: "worker-1", Client: "10.0.0.1:5"}, HeldSince: now.Add(-time.Minute)}
	waiter := inspect.Contender{Name: "b", State: inspect.Waiting, Owner: inspect.Owner{Label: "worker-2"}, Since: now.Add(-30 * time.Second)}
	gone := inspect.Contender{Name: "c", State: inspect.Waiting, Owner: inspect.Owner{Label: "worker-3"}, Since: now.Add(-time.Hour), Dead: true}
	v := View{Snapshot: inspect.NewSnapshot(now, nil, nil), Now: now}
	for _, tt := range []struct {
		name, want string
		lock       inspect.Lock
	}{
		{"held", "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting · next: worker-2 · longest wait 30s", inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{holder}, Waiters: []inspect.Contender{waiter}}},
		{"held, if it is a lock", "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting · next: worker-2 · longest wait 30s (may not be a lock)", inspect.Lock{Confidence: recipe.Possible, State: inspect.StateContended, Holders: []inspect.Contender{holder}, Waiters: []inspect.Contender{waiter}}},
		{"a likely lock", "worker-1 (10.0.0.1:5) has held it for 1m00s · no waiters", inspect.Lock{Confidence: recipe.Likely, State: inspect.StateHeld, Holders: []inspect.Contender{holder}}},
		{"free", "free: no holder, no waiters", inspect.Lock{State: inspect.StateFree}},
		{"no lock that is known", "no contender of a known recipe is in it: if it is a lock, it has no holder", inspect.Lock{Kind: inspect.KindUnknown, State: inspect.StateFree}},
		{"vacant", "no holder · 1 waiting · next: worker-2", inspect.Lock{State: inspect.StateFree, Waiters: []inspect.Contender{waiter}}},
		{"one of those who wait is gone", "worker-1 (10.0.0.1:5) has held it for 1m00s · 1 waiting (1 more in the queue most likely gone) · next: worker-2 · longest wait 30s", inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{holder}, Waiters: []inspect.Contender{gone, waiter}}},
		{"vacant, and gone", "free: no holder, no waiters (1 in the queue most likely gone)", inspect.Lock{State: inspect.StateFree, Waiters: []inspect.Contender{gone}}},
		{"blind", "unknown: no read permission", inspect.Lock{State: inspect.StateUnknown, Findings: []inspect.Finding{{Rule: "blind", Message: "no read permission"}}}},
		{"silent", "unknown: 1 of 1 master does not answer; too few are left to tell", inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{{Addr: "r:1"}}}},
		{"hash", "unknown: the key's value does not tell who holds the lock", inspect.Lock{State: inspect.StateUnknown, Masters: []inspect.Vote{{Up: true, Present: true, Held: &recipe.Record{}}}}},
	} {
		if got := v.Verdict(&tt.lock); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := v.Standing(&inspect.Lock{State: inspect.StateContended, Holders: []inspect.Contender{holder}, Waiters: []inspect.Contender{waiter}}); strings.ContainsAny(got, "03") {
		t.Errorf("%q has a running age", got)
	}
}

func TestEvidence(t *testing.T) {
	got := Evidence(map[string]any{
		"cause": "x", "locks": []string{"a"}, "waiters": 3, "owner": "w", "never_expires": true, "libraries": map[string]int{"kazoo": 1, "curator": 2},
		"servers": []any{map[string]any{"offset_ms": 1204.0, "addr": "h:1", "latency_ms": 0.4}}, "nothing": nil, "empty": []string{},
		"expires_at": time.Date(2026, 5, 4, 12, 0, 7, 0, time.UTC), "held_since": time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC),
		"value":      "2026-05-04T09:00:00Z", // that is its text, whatever it looks like
		"odd_name\a": "\x1b[2J", "every_ms": int64(650), "sessions": []string{"0x1", "0x2"},
	}, time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), "cause", "locks")
	want := []Fact{
		{"owner", []string{"w"}},
		{"held since", []string{"3h00m ago (09:00:00)"}},
		{"every", []string{"650ms"}},
		{"expires at", []string{"in 7s (12:00:07)"}},
		{"libraries", []string{"curator 2, kazoo 1"}},
		{"never expires", []string{"yes"}},
		{`odd name\u{7}`, []string{`\u{1b}[2J`}},
		{"servers", []string{"h:1 latency 0.4ms, offset 1.2s"}},
		{"sessions", []string{"0x1, 0x2"}},
		{"value", []string{"2026-05-04T09:00:00Z"}},
		{"waiters", []string{"3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A MAC address, which all programs of a host share, names no client.
func TestOwnerWithAMACAddress(t *testing.T) {
	for host, want := range map[inspect.Untrusted][2]string{
		"worker-1": {"worker-1", "host"}, "02:fc:00:00:00:01": {"9790ad66", "MAC address"}, "02:fc:00:00:00:zz": {"02:fc:00:00:00:zz", "host"},
		"": {"9790ad66", "host"},
	} {
		c := &inspect.Contender{Name: "9790ad66", Owner: inspect.Owner{Process: inspect.Process{Host: host}}}
		if got := [2]string{Owner(c), Host(&c.Owner)}; got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}
