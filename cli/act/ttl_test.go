package act

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops/act"
)

// A master that was not asked, or that has the value with another expiry, is not reported as having
// another value.
func TestExpiryChangeIsReportedPerMaster(t *testing.T) {
	never := inspect.Vote{Up: true, Present: true, NoExpiry: true}
	for name, tt := range map[string]struct {
		master act.MasterResult
		says   string
	}{
		"not asked":      {act.MasterResult{}, "not asked"},
		"another value":  {act.MasterResult{Lacked: true, After: never}, "has a different value, or none"},
		"another expiry": {act.MasterResult{OtherExpiry: true, After: never}, "not set: the key has gained or lost its expiry; never expires"},
		"unread after":   {act.MasterResult{Set: true}, "set; unknown: it does not answer"},
		"gone after":     {act.MasterResult{Set: true, After: inspect.Vote{Up: true}}, "set; no such key"},
		"failed":         {act.MasterResult{Err: errors.New("refused"), After: never}, "refused"},
	} {
		var stdout strings.Builder
		r := &setTTL{lockAction: lockAction{action: action{App: &app.App{Environment: app.Environment{Stdout: &stdout, Now: time.Now}}}}}
		tt.master.Addr = "r1:6379"
		r.result.Masters = []act.MasterResult{tt.master}
		r.print()
		must.Equal(t, stdout.String(), "r1:6379  "+tt.says+"\n", name)
		j := r.json().(TTLJSON).Masters[0]
		if j.Set != tt.master.Set || (j.Error != "") != (tt.master.Err != nil) || (j.After != nil && *j.After == -1) != tt.master.After.NoExpiry || j.After == nil == tt.master.After.NoExpiry {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
