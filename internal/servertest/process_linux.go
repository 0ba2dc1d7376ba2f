package servertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// standsStill reports whether no thread of a process runs any more, since it was stopped or has ended (proc(5), stat).
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat")) // the pattern is right
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The name before the state may have anything in it, also parentheses.
		if i := bytes.LastIndexByte(stat, ')'); i < 0 || i+2 >= len(stat) || bytes.IndexByte([]byte("TtZX"), stat[i+2]) < 0 {
			return false
		}
	}
	return true
}
