//go:build !linux

package servertest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

// standsStill cannot tell here.
func standsStill(int) bool { return true }
