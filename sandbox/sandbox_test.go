package sandbox

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryScenarioStartsAndEndsAtOnce(t *testing.T) {
	for _, name := range []string{Tour, "fair", "redlock"} {
		s, err := Start(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		if s.Caption(time.Now()) == "" || len(s.Targets()) != 2 {
			t.Errorf("%s: caption %q, targets %v", name, s.Caption(time.Now()), s.Targets())
		}
		start := time.Now()
		s.Close()
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s: Close took %v", name, took)
		}
		for _, addr := range append(s.addrs, s.zk.Addr()) {
			if c, err := net.Dial("tcp", addr); err == nil {
				c.Close()
				t.Errorf("%s: %s still answers", name, addr)
			}
		}
	}
}

func TestUnknownScenarioNamesThoseThatThereAre(t *testing.T) {
	if _, err := Start("nope", 1); !errors.Is(err, ErrNoScenario) || !strings.Contains(err.Error(), "redlock") {
		t.Errorf("error %v", err)
	}
}
