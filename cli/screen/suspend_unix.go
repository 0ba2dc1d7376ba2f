//go:build unix

package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// noSuspend is the reason why ctrl+z must not stop us; empty if a shell with job control
// continues us. No shell does if our parent is in another session, as with a container's first
// program. Nor does one in our process group, which would stop with us.
func noSuspend() string {
	parent := os.Getppid()
	session, err := unix.Getsid(0)
	theirs, theirErr := unix.Getsid(parent)
	group, groupErr := unix.Getpgid(parent)
	if err != nil || theirErr != nil || groupErr != nil || theirs != session || group == unix.Getpgrp() {
		return "this program was not started by a shell with job control"
	}
	return ""
}
