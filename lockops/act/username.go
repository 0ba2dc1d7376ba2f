package act

import (
	"os"
	"os/user"
	"strconv"
)

// UserName returns the name of the user who runs this program, for the audit file. It is "uid" and
// the number if the system has no name, as in a container without accounts; empty if there is
// neither.
func UserName() string { return nameOf(user.Current, os.Getuid()) }

// nameOf is UserName for a test's system; uid is negative if it has no numbers (Windows).
func nameOf(current func() (*user.User, error), uid int) string {
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	if uid < 0 {
		return ""
	}
	return "uid " + strconv.Itoa(uid)
}
