//go:build !linux

package servertest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

// reserve cannot keep other processes from a port here.
func reserve(int) bool { return true }

// standsStill cannot tell on this system.
func standsStill(int) bool { return true }
