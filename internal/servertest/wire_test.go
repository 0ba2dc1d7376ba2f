package servertest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// startEcho starts a server that repeats what it is told.
func startEcho(t *testing.T) string {
	t.Helper()
	return StartLiar(t, StartEmbeddedRedis(t).Addr, func(_ int, said []byte, client io.Writer) bool {
		_, _ = client.Write(said)
		return true
	}).Addr
}

// A stopped direction delivers its data after healing, and a reset ends connections.
func TestWireStopsAndHeals(t *testing.T) {
	w := StartWire(t, startEcho(t))
	c := must.Have(net.Dial("tcp", w.Addr()))(t)
	defer c.Close()
	say := func(text string) { _, _ = io.WriteString(c, text) }
	hear := func(limit time.Duration) (string, error) {
		_ = c.SetReadDeadline(time.Now().Add(limit))
		got := make([]byte, 3)
		_, err := io.ReadFull(c, got)
		return string(got), err
	}
	say("one")
	must.Equal(t, must.Have(hear(10*time.Second))(t), "one", "heard")
	for _, d := range []Direction{ToServer, ToClient} {
		w.Stop(d)
		say("two")
		_, err := hear(50 * time.Millisecond)
		must.True(t, err != nil, "direction", d, "is not stopped")
		w.Heal()
		must.Equal(t, must.Have(hear(10*time.Second))(t), "two", "heard after healing, direction", d)
	}
	w.Reset()
	_, err := hear(10 * time.Second)
	must.True(t, err != nil, "the connection outlived the reset")
}
