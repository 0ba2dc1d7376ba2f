//go:build !windows

package app

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/must"
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
	log := must.Have(net.ListenPacket("unixgram", socket))(t)
	defer log.Close()
	audit := must.Have(a.OpenAudit(s, ""))(t)
	defer audit.Close()
	acquire := func() error {
		_, err := audit.Acquired(act.Target{Name: "zk"}, false, inspect.ID{Backend: "zk", Path: "/a"}, "n")
		return err
	}
	must.Succeed(t, acquire())
	text := must.Have(os.ReadFile(filepath.Join(dir, "lockscope", "audit.jsonl")))(t)
	_ = log.SetReadDeadline(time.Now().Add(time.Minute))
	got := make([]byte, 64<<10)
	n, _, err := log.ReadFrom(got)
	if line := strings.TrimSpace(string(text)); err != nil || line == "" || !strings.Contains(string(got[:n]), line) {
		t.Errorf("%q, %v; want the line %q", got[:n], err, line)
	}
	log.Close()
	must.True(t, acquire() != nil, "no error once syslog is gone")
}

func TestHungSyslogIsAnError(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "log")
	log := must.Have(net.ListenPacket("unixgram", socket))(t) // never read
	defer log.Close()
	w, err := openSyslog(socket)
	must.Succeed(t, err)
	w.within = 10 * time.Millisecond
	for range 100_000 { // more than a socket queues
		if _, err = w.Write([]byte("line")); err != nil {
			break
		}
	}
	must.Be(t, err, os.ErrDeadlineExceeded)
}
