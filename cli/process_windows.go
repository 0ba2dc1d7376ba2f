package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, so that an interrupt of ours is not its own.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// sendSignal ends a process: Windows has no signal that asks it to. What it started goes on.
func sendSignal(pid int, _ syscall.Signal, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended meanwhile, which Wait reports
	}
}

// killedBy: no signal ends a process on Windows.
func killedBy(*os.ProcessState) (syscall.Signal, bool) { return 0, false }
