package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// TestALossThatOnlyTheReleaseFindsIsExitCode4: whatever the command's own code.
func TestALossThatOnlyTheReleaseFindsIsExitCode4(t *testing.T) {
	master := servertest.StartEmbeddedRedis(t)
	s, err := lockops.NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{master.Addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := redis.NewClient(&redis.Options{Addr: master.Addr})
	defer c.Close()
	for _, kept := range []error{nil, exitError{code: 7}} {
		hold, err := lockops.NewRedisMutex(s, "lock").Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Del(t.Context(), "lock").Err(); err != nil {
			t.Fatal(err)
		}
		l := labOn(t, "redis://"+master.Addr)
		q := &acquisition{lockChoice: lockChoice{app: l.app}, output: "text", trail: l.trail}
		if err := q.end(hold, kept); exitCode(err) != exitLost || !errors.Is(err, lockops.ErrLost) {
			t.Errorf("behind %v: %v, code %d", kept, err, exitCode(err))
		}
	}
}

// TestWhatIsSaidOfALockThatIsSomebodyElses: nothing of ours is left that a TTL could free.
func TestWhatIsSaidOfALockThatIsSomebodyElses(t *testing.T) {
	q := &acquisition{lockChoice: lockChoice{id: inspect.ID{Backend: "redis", Path: "lock"}}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("no answer came: %w", lockops.ErrOther), "nothing of ours is left"},
		{lockops.ErrDead, "it is freed when its session or TTL ends"},
	} {
		got := q.notReleased(tt.err)
		if exitCode(got) != exitUnreachable || !strings.HasSuffix(got.Error(), "("+tt.want+")") {
			t.Errorf("%v: %q, code %d", tt.err, got, exitCode(got))
		}
	}
}
