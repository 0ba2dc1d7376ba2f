//go:build !linux

package servertest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

// reserve cannot keep other processes from a port here.
func reserve(int) bool { return true }

// isStopped cannot tell on this system.
func isStopped(int) bool { return true }
