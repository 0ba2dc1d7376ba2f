package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// bells counts the bells among the commands of a message.
func bells(m *Model, msg tea.Msg) (n int) {
	for _, raw := range messages[tea.RawMsg](send(m, msg)) {
		if raw == (tea.RawMsg{Msg: "\a"}) {
			n++
		}
	}
	return n
}

func TestTheBellRingsForNewFindings(t *testing.T) {
	t.Parallel()
	now := fixture.Noon
	found := func(severity inspect.Severity, muted *inspect.Muted) snapshotArrivedMsg {
		now = now.Add(bellPause)
		s := inspect.NewSnapshot(now, []*inspect.Backend{{Name: "zk", FirstPass: true, State: inspect.Connected}}, nil)
		s.Events = []inspect.Event{{Kind: inspect.EventFinding, Lock: inspect.ID{Backend: "zk", Path: "/a"}, At: now, Finding: &inspect.Finding{Severity: severity, Muted: muted}}}
		return snapshotArrivedMsg{snapshot: s}
	}
	start := func(bell inspect.Severity) *Model {
		return model(t, Options{Bell: bell, Now: func() time.Time { return now }}, 80, 24, nil)
	}
	m := start(inspect.Warning)
	for i, tt := range []struct {
		msg  snapshotArrivedMsg
		want int
	}{
		{found(inspect.Critical, nil), 0}, // present at the first look
		{found(inspect.Warning, nil), 1},
		{found(inspect.Info, nil), 0},
		{found(inspect.Critical, &inspect.Muted{}), 0},
		{found(inspect.Critical, nil), 1},
	} {
		now = tt.msg.snapshot.TakenAt
		must.Equal(t, bells(m, tt.msg), tt.want, "step", i, "bells")
	}
	again := found(inspect.Critical, nil)
	now = now.Add(-bellPause + time.Second)
	must.Equal(t, bells(m, again), 0, "bells a second after the last one")
	now = now.Add(bellPause - time.Second)
	must.Equal(t, bells(m, again), 1, "bells after the pause")
	off := start("")
	bells(off, found(inspect.Critical, nil))
	must.Equal(t, bells(off, found(inspect.Critical, nil)), 0, "bells while they are off")
}

func TestSuspendNeedsAShell(t *testing.T) {
	t.Parallel()
	suspends := func(m *Model) bool {
		cmd := press(m, "ctrl+z")
		return cmd != nil && cmd() == tea.SuspendMsg{}
	}
	must.True(t, suspends(model(t, Options{}, 80, 24, nil)), "ctrl+z does not suspend")
	m := model(t, Options{NoSuspend: "there is no shell"}, 80, 24, nil)
	must.True(t, !suspends(m), "suspended without a shell that could resume it")
	wantText(t, m, "not suspended: there is no shell")
	m = model(t, Options{}, 80, 24, nil)
	holding(m, func() int { return 1 })
	must.True(t, !suspends(m), "suspended while holding a lock")
}
