package servertest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// A stopped direction delivers its data after healing, and a reset ends connections.
func TestWireStopsAndHeals(t *testing.T) {
	echo := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	w := StartWire(t, echo.Addr().String())
	c := must.Have(net.Dial("tcp", w.Addr()))(t)
	defer c.Close()
	say := func(text string) { _, _ = io.WriteString(c, text) }
	hear := func(want string, limit time.Duration) error {
		_ = c.SetReadDeadline(time.Now().Add(limit))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil {
			return err
		}
		if string(got) != want {
			t.Errorf("heard %q, want %q", got, want)
		}
		return nil
	}
	say("one")
	must.Succeed(t, hear("one", 10*time.Second))
	for _, d := range []Direction{ToServer, ToClient} {
		w.Stop(d)
		say("two")
		if err := hear("two", 50*time.Millisecond); err == nil {
			t.Errorf("direction %d is not stopped", d)
		}
		w.Heal()
		if err := hear("two", 10*time.Second); err != nil {
			t.Errorf("direction %d after healing: %v", d, err)
		}
	}
	w.Reset()
	if err := hear("x", 10*time.Second); err == nil {
		t.Error("the connection outlived the reset")
	}
}
