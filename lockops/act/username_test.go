package act

import (
	"os/user"
	"testing"
)

// A user whom the system has no name for is in the audit by number: a line without a user is useless.
func TestAUserWithoutANameHasANumber(t *testing.T) {
	unknown := func() (*user.User, error) { return nil, user.UnknownUserIdError(65532) }
	named := func() (*user.User, error) { return &user.User{Username: "ann"}, nil }
	nameless := func() (*user.User, error) { return &user.User{}, nil }
	for i, tt := range []struct {
		current func() (*user.User, error)
		uid     int
		want    string
	}{{named, 1000, "ann"}, {unknown, 65532, "uid 65532"}, {nameless, 0, "uid 0"}, {unknown, -1, ""}} {
		if got := nameOf(tt.current, tt.uid); got != tt.want {
			t.Errorf("%d: %q, want %q", i, got, tt.want)
		}
	}
}
