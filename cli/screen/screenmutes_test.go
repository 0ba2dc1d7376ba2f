package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// The screen keeps mutes like the command, can unmute, and refuses an invalid time.
func TestScreenMutesLikeTheCommand(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	a := &app.App{Environment: app.Environment{Now: func() time.Time { return now }}}
	state := t.TempDir()
	a.Getenv = func(name string) string {
		if name == "XDG_STATE_HOME" {
			return state
		}
		return ""
	}
	ours := app.Setup{Targets: []connect.Target{{Name: "zk", Servers: []string{"zk1:2181", "zk2:2181"}}}}
	others := app.Setup{Targets: []connect.Target{{Name: "zk", Servers: []string{"staging:2181"}}}}
	mutes := screenMutes{a, ours, inspect.NewObserver(a.Now)}
	list := []inspect.Mute{
		{Lock: inspect.ID{Backend: "zk", Path: "/locks/a"}, Rule: "stuck-holder", Muted: inspect.Muted{Until: now.Add(time.Hour), Reason: "OPS-7"}},
		{Lock: inspect.ID{Backend: "zk"}, Rule: "clock-skew", Muted: inspect.Muted{Until: now.Add(2 * time.Hour), Reason: "OPS-7"}},
	}
	must.Succeed(t, mutes.Mute(t.Context(), list))
	kept, err := a.ReadMutes()
	if err != nil || len(kept) != 2 || kept[0].Lock != "zk:/locks/a" || kept[1].Lock != "zk" || !kept[0].Until.Equal(now.Add(time.Hour)) || kept[0].By == "" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if here, there := a.Mutes(ours), a.Mutes(others); len(here) != 2 || len(there) != 0 {
		t.Errorf("%d mutes here, %d on other servers with the same name; want 2, 0", len(here), len(there))
	}
	must.Succeed(t, screenMutes{a, others, inspect.NewObserver(a.Now)}.Unmute(t.Context(), list[:1]))
	must.Equal(t, len(a.Mutes(ours)), 2, "mutes after those of other servers were ended")
	must.Succeed(t, mutes.Unmute(t.Context(), list[:1]))
	if kept, _ := a.ReadMutes(); len(kept) != 1 || kept[0].Lock != "zk" {
		t.Errorf("kept %+v", kept)
	}
	for _, span := range []time.Duration{0, -time.Hour, 721 * time.Hour} {
		list[0].Until = now.Add(span)
		if err := mutes.Mute(t.Context(), list[:1]); err == nil || !strings.Contains(err.Error(), "720h") {
			t.Errorf("%v: %v", span, err)
		}
	}
}
