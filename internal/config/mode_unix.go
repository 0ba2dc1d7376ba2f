//go:build unix

package config

import (
	"io/fs"
	"os/exec"
	"syscall"
)

func ownerOf(info fs.FileInfo) (user, group int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// detach starts a program in a session without a terminal, so that it cannot write over the screen.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
