package app

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup gives a program a separate process group, so that our interrupts do not reach it.
func OwnGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// SendSignal ends a process: Windows has no signal that asks it to. Its children keep running.
func SendSignal(pid int, _ syscall.Signal, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended meanwhile, which Wait reports
	}
}

// KilledBy returns false: no signal ends a process on Windows.
func KilledBy(*os.ProcessState) (syscall.Signal, bool) { return 0, false }
