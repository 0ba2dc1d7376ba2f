//go:build unix

package app

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup gives a program a process group of its own, so that all that it starts can be signalled.
func OwnGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// SendSignal sends a signal to a process, or to all of its group.
func SendSignal(pid int, s syscall.Signal, group bool) {
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s) // it may have ended meanwhile, which Wait reports
}

// KilledBy is the signal that ended a process, if one did.
func KilledBy(p *os.ProcessState) (syscall.Signal, bool) {
	status, ok := p.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled()
}
