package app

import (
	"os/exec"
	"syscall"
)

// EndWithUs makes a program get SIGTERM when this process, or the thread that starts it, ends for
// any reason.
func EndWithUs(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGTERM
}
