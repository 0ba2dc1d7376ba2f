package servertest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// processorTime returns the processor time of all threads of a process (proc_pid_stat(5): utime and
// stime, after the name in parentheses, in hundredths of a second).
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const utime, stime = 14 - 3, 15 - 3
	var ticks int64
	for _, at := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
