package hold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/act"
)

// The loss takes precedence over the command's own exit code, and is reported and audited with its
// reason.
func TestLossFoundOnReleaseExitsWith4(t *testing.T) {
	t.Parallel()
	master := servertest.StartEmbeddedRedis(t)
	s := must.Have(lockops.NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{master.Addr}}}))(t)
	defer s.Close()
	c := master.Client(t)
	for _, kept := range []error{nil, app.ExitError{Code: 7}, app.ExitError{Code: app.ExitLost}} {
		hold := must.Have(lockops.NewRedisMutex(s, "lock").Acquire(t.Context()))(t)
		must.Succeed(t, c.Del(t.Context(), "lock").Err())
		l := labOn(t, "redis://"+master.Addr)
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		audit := must.Have(act.OpenAudit(time.Now, path, "", ""))(t)
		l.Record(audit)
		var said strings.Builder
		l.app.Stdout = &said
		q := &acquisition{lockChoice: lockChoice{App: l.app}, output: "jsonl", ended: l.audit.acquired(connect.Target{}, inspect.ID{}, hold)}
		if err := q.end(hold, kept); app.ExitCode(err) != app.ExitLost || !errors.Is(err, lockops.ErrLost) {
			t.Errorf("after %v: %v, code %d", kept, err, app.ExitCode(err))
		}
		must.Contain(t, said.String(), `"event":"lost"`, "after", kept, "output")
		if lines, err := os.ReadFile(path); err != nil || !strings.Contains(string(lines), lockops.ErrGone.Error()) {
			t.Errorf("audit %s, %v", lines, err)
		}
		audit.Close()
	}
}

// A renewal also names the entry, although the lock only reports its deadline.
func TestEachEventNamesTheEntry(t *testing.T) {
	var said strings.Builder
	q := &acquisition{lockChoice: lockChoice{App: &app.App{Environment: app.Environment{Stdout: &said, Now: time.Now}}}, output: "jsonl"}
	deadline := time.Now()
	q.waiting(lockops.Queue{Name: "ours"})
	q.event(LockEvent{Event: "renewed"}, "", nil, &deadline)
	must.Equal(t, strings.Count(said.String(), `"name":"ours"`), 2, "entries named in", said.String())
}

// Another client has the lock, so no TTL of ours has to end.
func TestTakenOverLockLeavesNothing(t *testing.T) {
	q := &acquisition{lockChoice: lockChoice{id: inspect.ID{Backend: "redis", Path: "lock"}}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: %w", lockops.ErrUnknownRelease, lockops.ErrOther), "nothing is left on the servers"},
		// Of three masters, one was lost and two are silent.
		{errors.Join(lockops.ErrNoQuorum, &lockops.NodeError{Node: "r1", Err: lockops.ErrOther}), "it is freed when its session or TTL ends"},
		{lockops.ErrDead, "it is freed when its session or TTL ends"},
	} {
		got := q.notReleased(tt.err)
		if app.ExitCode(got) != app.ExitUnreachable || !strings.HasSuffix(got.Error(), "("+tt.want+")") {
			t.Errorf("%v: %q, code %d", tt.err, got, app.ExitCode(got))
		}
	}
}
