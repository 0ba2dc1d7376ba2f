//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, so that all that it starts can be signalled.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// sendSignal sends a signal to a process, or to all of its group.
func sendSignal(pid int, s syscall.Signal, group bool) {
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s) // it may have ended meanwhile, which Wait reports
}

// killedBy is the signal that ended a process, if one did.
func killedBy(p *os.ProcessState) (syscall.Signal, bool) {
	status, ok := p.Sys().(syscall.WaitStatus)
	return status.Signal(), ok && status.Signaled()
}
