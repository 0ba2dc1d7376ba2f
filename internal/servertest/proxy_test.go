package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

func TestProxyBreaksWhatPasses(t *testing.T) {
	server := StartEmbeddedRedis(t)
	p := StartProxy(t, server.Addr)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.Addr)
		check(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	// answers says whether a PING is answered: nil, or why not; within bounds the wait where none is expected.
	answers := func(c net.Conn, within time.Duration) error {
		c.SetDeadline(time.Now().Add(within))
		if _, err := fmt.Fprint(c, "*1\r\n$4\r\nPING\r\n"); err != nil {
			return err
		}
		_, err := bufio.NewReader(c).ReadString('\n')
		return err
	}
	const soon, never = 5 * time.Second, 50 * time.Millisecond

	c := dial()
	if err := answers(c, soon); err != nil {
		t.Fatalf("whole: %v", err)
	}
	for _, side := range []struct{ toServer, toClient bool }{{true, false}, {false, true}} {
		p.BlackHole(side.toServer, side.toClient)
		if err := answers(c, never); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("black hole %+v: %v", side, err)
		}
		p.Heal()
		c.SetDeadline(time.Now().Add(soon))
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Errorf("what was held back by %+v: %v", side, err)
		}
	}
	p.Delay(2 * never)
	start := time.Now()
	if err := answers(c, soon); err != nil || time.Since(start) < 4*never {
		t.Errorf("delayed: %v after %v", err, time.Since(start))
	}
	p.Heal()
	p.Cut()
	if err := answers(c, soon); err == nil {
		t.Error("cut, and it answers")
	}
	if err := answers(dial(), soon); err != nil {
		t.Errorf("after a cut: %v", err)
	}
	p.Refuse()
	if err := answers(dial(), soon); err == nil {
		t.Error("refused, and it answers")
	}
	p.Heal()
	if err := answers(dial(), soon); err != nil {
		t.Errorf("after it refused: %v", err)
	}
}
