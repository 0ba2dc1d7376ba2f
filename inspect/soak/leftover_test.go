package soak

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// within polls until ok, for at most limit.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

var watchCount = regexp.MustCompile(`zk_watch_count\t(\d+)`)

// watchesOf counts the watches on a server.
func watchesOf(t *testing.T, addr string) int {
	t.Helper()
	conn := must.Have(net.DialTimeout("tcp", addr, 5*time.Second))(t)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(conn, "mntr")
	found := watchCount.FindSubmatch(must.Have(io.ReadAll(conn))(t))
	if found == nil {
		t.Fatalf("no number of watches from %s", addr)
	}
	return must.Have(strconv.Atoi(string(found[1])))(t)
}
