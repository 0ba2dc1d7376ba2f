package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/internal/must"
)

// A vote without an answer changes the exit code although its backend is connected. Refused votes
// do not; doctor reports them.
func TestUnreadVoteChangesTheExitCode(t *testing.T) {
	t.Parallel()
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	answered := func(addr string) inspect.Vote {
		return inspect.Vote{Addr: addr, Up: true, Present: true, Value: "abc", ExpiresAt: time.Now().Add(time.Hour)}
	}
	silent := inspect.Vote{Addr: "r3:6379"}
	refused := answered("r3:6379")
	refused.Unseen = []inspect.Unseen{{Aspect: inspect.AspectVotes, Where: "r3:6379", Read: "GETRANGE", Reason: "NOPERM", Right: "+getrange"}}
	allRefused := silent
	allRefused.Error, allRefused.Unseen = "NOPERM", refused.Unseen
	for name, tt := range map[string]struct {
		last inspect.Vote
		code int
	}{
		"one refused all": {allRefused, 0},
		"all answered":    {answered("r3:6379"), 0}, "one did not": {silent, 3}, "one refused": {refused, 0},
	} {
		l := inspect.KeyLock(id, []inspect.Vote{answered("r1:6379"), answered("r2:6379"), tt.last}, time.Now())
		b := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected}
		var text bytes.Buffer
		err := recording.Save(&text, func(yield func(time.Time, inspect.Update) bool) {
			yield(time.Now(), inspect.Update{Backend: b, Put: []*inspect.Lock{l}})
		})
		file := filepath.Join(t.TempDir(), "a.jsonl")
		must.Succeed(t, errors.Join(err, os.WriteFile(file, text.Bytes(), 0o600)))
		for _, command := range [][]string{{"ls"}, {"show", id.String()}} {
			got := run(t, append(command, file)...)
			if got.code != tt.code || (tt.code == 3) != strings.Contains(got.stderr, "backend redis: a master did not answer for 1 lock") || !strings.Contains(got.stdout, "redis:lock:a") {
				t.Errorf("%s, %s: %+v, want %d", name, command[0], got, tt.code)
			}
		}
	}
}
