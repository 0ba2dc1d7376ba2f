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
	"github.com/lockscope/lockscope/lockops"
)

// seed decides the random times of a scenario. No test depends on it.
const seed = 7

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
		s := must.Have(Start(name, seed))(t)
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
	if _, err := Start("nope", seed); !errors.Is(err, ErrNoScenario) || !strings.Contains(err.Error(), "redlock") {
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
	s := must.Have(Start("fair", seed))(t)
	defer s.Close()
	session := must.Have(lockops.NewZKSession(t.Context(), []string{s.zk.Addr()}))(t)
	defer session.Close()
	hold := must.Have(lockops.NewZKMutex(session, "/frozen").Acquire(t.Context()))(t)
	s.Freeze("zk:/frozen")
	ended := make(chan struct{})
	go func() {
		s.worker("holder").workUnder(t.Context(), hold, "zk:/frozen", span{})
		close(ended)
	}()
	select {
	case <-ended:
		t.Fatal("the frozen holder ended its work")
	case <-time.After(100 * time.Millisecond): // without a freeze its work takes no time
	}
	must.True(t, s.Frozen("zk:/frozen"), "reported as not frozen")
	s.Thaw("zk:/frozen")
	<-ended
	must.True(t, !s.Frozen("zk:/frozen"), "still reported as frozen")
}

func TestMastersStopAndStart(t *testing.T) {
	s := must.Have(Start("split", seed))(t)
	defer s.Close()
	addr := s.Masters()[1]
	before := must.Have(net.Dial("tcp", addr))(t)
	for range 2 { // a second time changes nothing
		must.Succeed(t, s.StopMaster(addr))
		must.True(t, s.Stopped(addr), "reported as running")
	}
	ended(t, before)
	for range 2 {
		must.Succeed(t, s.StartMaster(addr))
		must.True(t, !s.Stopped(addr), "reported as stopped")
	}
	c := must.Have(net.Dial("tcp", addr))(t)
	c.Close()
	must.True(t, s.StopMaster("127.0.0.1:1") != nil, "an unknown master is stopped")
}
