//go:build !windows

package app

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/lockops/act"
)

func TestAuditLinesAreCopiedToSyslog(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "log")
	a := &App{Environment: Environment{Now: time.Now, Getenv: func(string) string { return dir }, Syslog: socket}}
	s := Setup{Config: config.Config{Audit: "syslog"}}
	if _, err := a.OpenAudit(s, ""); err == nil || !strings.Contains(err.Error(), "syslog") {
		t.Errorf("without syslog: %v", err)
	}
	log, err := net.ListenPacket("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	audit, err := a.OpenAudit(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	acquire := func() error {
		_, err := audit.Acquired(act.Target{Name: "zk"}, false, inspect.ID{Backend: "zk", Path: "/a"}, "n")
		return err
	}
	if err := acquire(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "lockscope", "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_ = log.SetReadDeadline(time.Now().Add(time.Minute))
	got := make([]byte, 64<<10)
	n, _, err := log.ReadFrom(got)
	if line := strings.TrimSpace(string(text)); err != nil || line == "" || !strings.Contains(string(got[:n]), line) {
		t.Errorf("%q, %v; want the line %q", got[:n], err, line)
	}
	log.Close()
	if err := acquire(); err == nil {
		t.Error("no error once syslog is gone")
	}
}

func TestASyslogThatHangsIsAnError(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	log, err := net.ListenPacket("unixgram", socket) // which no one reads
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w, err := openSyslog(socket)
	if err != nil {
		t.Fatal(err)
	}
	w.within = 10 * time.Millisecond
	for range 100_000 { // more than a socket queues
		if _, err = w.Write([]byte("line")); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want a timeout", err)
	}
}
