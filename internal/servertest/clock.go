package servertest

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Clock is the wall clock of a real server, which a test can step.
type Clock struct {
	file   string
	offset time.Duration
}

//go:embed testdata/clock.c
var clockSource []byte

// StartRedisWithClock is StartRedis with a separate wall clock for the server. It needs a C
// compiler (cc).
func StartRedisWithClock(t testing.TB, args ...string) (*Redis, *Clock) {
	t.Helper()
	library, err := shared.clockLibrary()
	check(t, err)
	clock := &Clock{file: filepath.Join(t.TempDir(), "clock")}
	clock.Step(t, 0)
	r, err := startRedis(args, "env", "LD_PRELOAD="+library, "LOCKSCOPE_CLOCK="+clock.file, "redis-server")
	check(t, err)
	t.Cleanup(r.end)
	return r, clock
}

// Step sets the clock ahead, or back.
func (c *Clock) Step(t testing.TB, by time.Duration) {
	t.Helper()
	c.offset += by
	// The file is written in place, since the server has mapped it.
	f, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE, 0o600)
	check(t, err)
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(c.offset)))
	check(t, err)
	check(t, f.Close())
}

// clockLibrary is clock.c as a shared library, which is compiled once.
func (s *sharedServers) clockLibrary() (string, error) {
	if !useReal() {
		return "", errEmbeddedOnly
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", missingError{"cc (gcc)"}
	}
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	library := filepath.Join(dir, "clock.so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	source := filepath.Join(dir, "clock.c")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("servertest: compiling clock.c: %w: %s", err, out)
	}
	return library, nil
}
