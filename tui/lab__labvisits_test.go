package tui

import (
	"testing"

	"lockscope/lockops/contend"
)

func TestTheUsualContestIsAQueueAgainstARace(t *testing.T) {
	for _, tt := range []struct {
		name     string
		backends []LabBackend
		one, two string
	}{
		{"both", []LabBackend{redisBackend, zkBackend}, "zk: mutex", "redis: mutex on one master"},
		{"Redis alone", []LabBackend{redisBackend}, "redis: mutex on one master", "redis: redlock"},
		{"ZooKeeper alone", []LabBackend{zkBackend}, "zk: mutex", ""},
		{"two ZooKeepers", []LabBackend{zkBackend, {Name: "zk2", ZooKeeper: true, Arenas: []string{"mutex"}}}, "zk: mutex", "zk2: mutex"},
	} {
		all, left, right := arenasOf(tt.backends)
		two := ""
		if right >= 0 {
			two = all[right].String()
		}
		if all[left].String() != tt.one || two != tt.two {
			t.Errorf("%s: %q against %q", tt.name, all[left], two)
		}
	}
	if all, _, _ := arenasOf(nil); len(all) != 0 {
		t.Error(all)
	}
}

func TestVerdictOfARun(t *testing.T) {
	for _, tt := range []struct {
		report contend.Report
		want   string
	}{
		{contend.Report{}, "nothing granted so far"},
		{contend.Report{Grants: 100}, "first come, first served"},
		{contend.Report{Grants: 1000, Inversions: 2}, "nearly first come, first served: 0.2 % overtook"},
		{contend.Report{Grants: 100, Inversions: 37}, "a race: 37 % overtook"},
		{contend.Report{Grants: 100, Inversions: 37, Overlaps: 1}, "no lock at all: two held it at once"},
	} {
		if got := verdictOf(&tt.report); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestVisitsAreForgotten(t *testing.T) {
	t.Parallel()
	var events []contend.Event
	for i := range 3 * visitsKept {
		events = append(events, event(contend.Queued, i%7, float64(i)), event(contend.Left, i%7, float64(i)+0.5))
	}
	visits := noteVisits(nil, events)
	if len(visits) != visitsKept {
		t.Errorf("%d are kept, want %d", len(visits), visitsKept)
	}
	if left := forgetVisits(visits, visits[len(visits)-10].ended); len(left) != 10 {
		t.Errorf("%d are left, want 10", len(left))
	}
}
