//go:build !windows

package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// syslogWithin bounds one line: a syslog that hangs must not hold up an action for long.
const syslogWithin = 3 * time.Second

// syslogPriority is the facility authpriv and the severity notice.
const syslogPriority = 10<<3 | 5

// syslogWriter sends lines to the system log. log/syslog would wait for a log that hangs.
type syslogWriter struct {
	paths  []string
	within time.Duration
}

// openSyslog finds the system log, by its socket's path if that is not empty.
func openSyslog(path string) (*syslogWriter, error) {
	w := &syslogWriter{[]string{"/dev/log", "/var/run/syslog", "/var/run/log"}, syslogWithin}
	if path != "" {
		w.paths = []string{path}
	}
	conn, err := w.dial()
	if err != nil {
		return nil, err
	}
	return w, conn.Close()
}

func (w *syslogWriter) dial() (net.Conn, error) {
	var failed []error
	for _, path := range w.paths {
		for _, network := range []string{"unixgram", "unix"} {
			conn, err := net.DialTimeout(network, path, w.within)
			if err == nil {
				return conn, nil
			}
			failed = append(failed, err)
		}
	}
	return nil, errors.Join(failed...)
}

// Write sends one line over a new connection, so that it survives a restart of syslog.
func (w *syslogWriter) Write(line []byte) (int, error) {
	conn, err := w.dial()
	if err != nil {
		return 0, fmt.Errorf("syslog: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(w.within)); err != nil {
		return 0, fmt.Errorf("syslog: %w", err)
	}
	_, err = fmt.Fprintf(conn, "<%d>%s lockscope[%d]: %s\n", syslogPriority, time.Now().Format(time.Stamp), os.Getpid(),
		strings.TrimSpace(string(line)))
	if err != nil {
		return 0, fmt.Errorf("syslog: %w", err)
	}
	return len(line), nil
}
