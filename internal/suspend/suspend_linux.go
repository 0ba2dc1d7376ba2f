package suspend

import (
	"time"

	"golang.org/x/sys/unix"
)

// counted returns the time that CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not.
func counted() time.Duration {
	var boot, running unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &running) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - running.Nano())
}
