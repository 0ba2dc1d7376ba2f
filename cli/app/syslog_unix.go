//go:build !windows

package app

import (
	"io"
	"log/syslog"
)

// openSyslog connects to the log of the system, or to its socket at a path.
func openSyslog(path string) (io.WriteCloser, error) {
	network := ""
	if path != "" {
		network = "unixgram"
	}
	return syslog.Dial(network, path, syslog.LOG_AUTHPRIV|syslog.LOG_NOTICE, "lockscope")
}
