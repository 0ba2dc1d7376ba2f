package servertest

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// reserve takes a port for this process, for as long as it runs; false if another has it. A server takes a
// while to listen on the port that it was given. An abstract socket leaves nothing behind (unix(7)).
func reserve(port int) bool {
	l, err := net.Listen("unix", "@lockscope-servertest-"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	reserved.Store(port, l) // it would be closed when nothing refers to it
	return true
}

// reserved are the sockets that keep ports, by port.
var reserved sync.Map

// isStopped reports whether all threads of a process are stopped or have ended (proc(5), stat).
func isStopped(pid int) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat")) // the pattern is valid
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The name before the state may contain anything, including parentheses.
		if i := bytes.LastIndexByte(stat, ')'); i < 0 || i+2 >= len(stat) ||
			bytes.IndexByte([]byte("TtZX"), stat[i+2]) < 0 {
			return false
		}
	}
	return true
}
