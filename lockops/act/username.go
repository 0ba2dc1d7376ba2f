package act

import (
	"os"
	"os/user"
	"strconv"
)

// UserName returns the name of the user who runs this program, as the audit file has it: where the system
// knows no name, as in a container without accounts, "uid" and the number; empty where there is neither.
func UserName() string { return nameOf(user.Current, os.Getuid()) }

// nameOf is UserName of what a system knows; uid is negative where it has no numbers (Windows).
func nameOf(current func() (*user.User, error), uid int) string {
	if u, err := current(); err == nil && u.Username != "" {
		return u.Username
	}
	if uid < 0 {
		return ""
	}
	return "uid " + strconv.Itoa(uid)
}
