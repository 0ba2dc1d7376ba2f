//go:build unix

package app

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup gives a program its own process group, so that its children can be signalled too.
func OwnGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// SendSignal sends a signal to a process or its whole group.
func SendSignal(pid int, s syscall.Signal, group bool) {
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s) // it may have ended meanwhile, which Wait reports
}

// KilledBy returns the signal that ended a process; ok is false if none did.
func KilledBy(p *os.ProcessState) (syscall.Signal, bool) {
	status, ok := p.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled()
}
