package soak

import (
	"io"
	"net"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
)

// stacks are all goroutines' stacks, with equal ones grouped.
func stacks() string {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return err.Error()
	}
	return text.String()
}

// within polls until ok, for at most limit.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func restartClient(t *testing.T, addrs []string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(addrs, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(quietZK{}))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	go func() {
		for range events { // until Close
		}
	}()
	if _, _, err := c.Exists("/"); err != nil { // connected, and all its goroutines run
		t.Fatal(err)
	}
	return c
}

type quietZK struct{}

func (quietZK) Printf(string, ...any) {}

// watchesOf counts the watches on all servers.
func watchesOf(t *testing.T, addrs []string) (n int) {
	t.Helper()
	for _, addr := range addrs {
		text, err := fourLetters(addr, "mntr")
		if err != nil {
			t.Log(err)
			return 1 << 30
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name == "zk_watch_count" {
				watches := must.Have(strconv.Atoi(value))(t)
				n += watches
			}
		}
	}
	return n
}

func fourLetters(addr, word string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
