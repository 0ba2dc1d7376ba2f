package hold

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
)

func TestParseACL(t *testing.T) {
	got, err := parseACL("world:anyone:r,auth::cdrwa,digest:user:aGFzaA==:rw")
	want := []zk.ACL{
		{Perms: zk.PermRead, Scheme: "world", ID: "anyone"},
		{Perms: zk.PermAll, Scheme: "auth", ID: ""},
		{Perms: zk.PermRead | zk.PermWrite, Scheme: "digest", ID: "user:aGFzaA=="},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"world", "world:anyone", "world:anyone:x", ":anyone:r", "world:anyone:", ","} {
		if got, err := parseACL(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

// The server's reply decides, not a lock's name that looks like one.
func TestOnlyRepliesCountAsRefusals(t *testing.T) {
	denied := &lockops.DeniedError{Command: "set", Err: errors.New("NOPERM no permissions to run the 'set' command")}
	for name, tt := range map[string]struct {
		err  error
		code int
	}{
		"a command":      {fmt.Errorf("redis:lock:a: %w", denied), app.ExitNo},
		"one of several": {errors.Join(errors.New("r1:6379: no answer in time"), denied), app.ExitNo},
		"a node":         {fmt.Errorf("zk:/a: %w", zk.ErrNoAuth), app.ExitNo},
		"a lock's name":  {errors.New("redis:lock:NOPERM: r1:6379: connection refused"), app.ExitUnreachable},
		"a login":        {errors.New("WRONGPASS invalid username-password pair"), app.ExitUnreachable},
	} {
		must.Equal(t, notTaken(tt.err), tt.code, name, "exit")
	}
}

func TestFairnessInWords(t *testing.T) {
	for _, tt := range []struct {
		grants, inversions uint64
		want               string
	}{
		{0, 0, "never acquired"},
		{100, 0, "no acquisition overtook a waiter: 0 inversions"},
		{100, 37, "a race: 37% of acquisitions overtook a waiter"},
		{1000, 1, "nearly first come, first served: 0.1% of acquisitions overtook a waiter"},
	} {
		must.Equal(t, fairness(contend.Report{Grants: tt.grants, Inversions: tt.inversions}), tt.want)
	}
}

func TestOverlapsExitWithCode1(t *testing.T) {
	q := &contention{}
	err := q.verdict(contend.Report{Grants: 10, Overlaps: 2}, nil, false)
	if app.ExitCode(err) != 1 || !strings.Contains(err.Error(), "MUTUAL EXCLUSION FAILED: 2 of 10 acquisitions") {
		t.Errorf("%v", err)
	}
}
