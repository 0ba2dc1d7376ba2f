package cli

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

func TestProgressLineIsOneLineAndGoneAtTheEnd(t *testing.T) {
	var out strings.Builder
	l := progressLine{to: &out, width: 20}
	l.show(strings.Repeat("x", 50))
	l.show("short")
	l.clear()
	text := out.String()
	if strings.ContainsAny(text, "\n\x1b") {
		t.Errorf("%q", text)
	}
	parts := strings.Split(text, "\r")
	if parts[1] != strings.Repeat("x", 18)+"…" || strings.TrimRight(parts[2], " ") != "short" || len(parts[2]) != 19 || strings.TrimSpace(parts[3]) != "" {
		t.Errorf("%q", parts)
	}
}

func TestProgressNamesWhatIsRead(t *testing.T) {
	s := &inspect.Snapshot{Backends: []*inspect.Backend{
		{Name: "zk", Kind: inspect.ZooKeeper, Scanned: 1200}, {Name: "redis", Kind: inspect.Redis, FirstPass: true}, {Name: "zk2", State: inspect.Down},
	}}
	if got, want := progress(s), "0 locks so far (zk 1200 directories, redis done, zk2 down)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A server that accepts and says nothing makes a look take long: on a terminal that is reported, elsewhere it is not.
func TestLongLookTellsItsProgressOnATerminalOnly(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	fast := servertest.StartEmbeddedRedis(t)
	fast.Mini.Set("lock:a", "x")
	args := []string{"ls", "-o", "json", "--timeout", "2500ms", fmt.Sprintf("zk://%s", silent.Addr()), "redis://" + fast.Addr}
	r := inTerminal(t, 60, 100, args...)
	r.awaitText("so far (")
	got := run(t, args...)
	if code := r.exit(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if s := r.text(); strings.Contains(s, "so far") || !strings.Contains(s, "lock:a") {
		t.Errorf("what is left on the screen:\n%s", s)
	}
	if strings.Contains(got.stderr, "so far") || strings.Contains(got.stderr, "\r") {
		t.Errorf("without a terminal: %q", got.stderr)
	}
}
