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
	names := []string{Tour}
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	for _, name := range names {
		s, err := Start(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Scenes()) == 0 || len(s.Targets()) != 2 {
			t.Errorf("%s: scenes %q, targets %v", name, s.Scenes(), s.Targets())
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
