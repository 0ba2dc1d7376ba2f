//go:build unix

package connect

import (
	"net"
	"os"
	"os/exec"
	"syscall"
)

// socketPair returns a connection and its other end, to pass to a program.
func socketPair() (net.Conn, *os.File, error) {
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, its := os.NewFile(uintptr(pair[0]), "ssh"), os.NewFile(uintptr(pair[1]), "ssh")
	defer ours.Close() // the connection has its own
	conn, err := net.FileConn(ours)
	if err != nil {
		its.Close()
		return nil, nil, err
	}
	return conn, its, nil
}

// ownGroup shields a program from the terminal's interrupts, since locks are released through it
// afterwards.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
