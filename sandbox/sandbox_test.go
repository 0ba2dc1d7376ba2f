package sandbox

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockscope/lockscope/internal/must"
)

// go-redis' probe of a stopped server notices within a second that its pool was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

func TestEveryScenarioStartsAndStops(t *testing.T) {
	names := []string{Tour}
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		s := must.Have(Start(name, 7))(t)
		if len(s.Scenes()) == 0 || len(s.Targets()) < 2 {
			t.Errorf("%s: scenes %q, targets %v", name, s.Scenes(), s.Targets())
		}
		var conns []net.Conn
		for _, addr := range append(s.addrs, s.zk.Addr()) {
			conns = append(conns, must.Have(net.Dial("tcp", addr))(t))
		}
		start := time.Now()
		s.Close()
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: Close took %v", name, took)
		}
		for _, c := range conns {
			ended(t, c)
		}
	}
}

// ended fails if the server's side of a connection is still open. Dialling again would prove nothing: another process
// may listen on that port by now.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	defer c.Close()
	must.Be(t, c.SetReadDeadline(time.Now().Add(10*time.Second)), nil)
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s is still connected: %v", c.RemoteAddr(), err)
	}
}

func TestUnknownScenarioListsKnownOnes(t *testing.T) {
	if _, err := Start("nope", 1); !errors.Is(err, ErrNoScenario) || !strings.Contains(err.Error(), "redlock") {
		t.Errorf("error %v", err)
	}
}

func TestCaptionsFitTwoNarrowLines(t *testing.T) {
	for _, scenario := range Scenarios() {
		for _, s := range scenario.scenes {
			if n := len(s.Title) + len(s.Text); n > 135 || s.Title == "" || s.Lock == "" {
				t.Errorf("%s: the scene %q has %d characters", scenario.Name, s.Title, n)
			}
		}
	}
}

func TestFrozenHolderHoldsUntilThawed(t *testing.T) {
	s := must.Have(Start("fair", 3))(t)
	defer s.Close()
	const lock = "zk:/locks/orders"
	s.Freeze(lock)
	select {
	case <-s.thawed(lock):
		t.Fatal("not frozen")
	default:
	}
	s.Thaw(lock)
	<-s.thawed(lock)
	must.True(t, !s.Frozen(lock), "still frozen")
}

func TestMastersStopAndStart(t *testing.T) {
	s := must.Have(Start("split", 3))(t)
	defer s.Close()
	addr := s.Masters()[1]
	before := must.Have(net.Dial("tcp", addr))(t)
	for range 2 { // a second time changes nothing
		if err := s.StopMaster(addr); err != nil || !s.Stopped(addr) {
			t.Fatal(err)
		}
	}
	ended(t, before)
	for range 2 {
		if err := s.StartMaster(addr); err != nil || s.Stopped(addr) {
			t.Fatal(err)
		}
	}
	c := must.Have(net.Dial("tcp", addr))(t)
	c.Close()
	must.True(t, s.StopMaster("127.0.0.1:1") != nil, "an unknown master is stopped")
}
