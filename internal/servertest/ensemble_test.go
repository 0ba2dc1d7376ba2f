package servertest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// TestWireStopsAndHeals: what is held back arrives late, in each direction by itself; a reset ends connections.
func TestWireStopsAndHeals(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	c, err := net.Dial("tcp", w.Addr())
	if err != nil {
		t.Fatal(err)
	}
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
	if err := hear("one", 10*time.Second); err != nil {
		t.Fatal(err)
	}
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

// TestEnsembleIsPartitioned: an isolated leader commits nothing, loses its office, and comes back as a follower or leader.
func TestEnsembleIsPartitioned(t *testing.T) {
	e := StartEnsemble(t, EnsembleConfig{Tick: 100 * time.Millisecond, SyncLimit: 5})
	old := e.Leader(t)
	if err := e.commits(old, commitTimeout); err != nil {
		t.Error(err)
	}
	e.Isolate(old)
	if err := e.commits(old, 200*time.Millisecond); err == nil {
		t.Error("a leader that is cut off commits")
	}
	deadline := time.Now().Add(startTimeout)
	for led := false; !led; {
		if time.Now().After(deadline) {
			t.Fatal("the others did not elect a leader")
		}
		for i, zk := range e.Members {
			led = led || i != old && mode(zk.Addr) == "leader"
		}
	}
	if m := mode(e.Members[old].Addr); m == "follower" {
		t.Errorf("the isolated leader says %q", m)
	}
	e.Heal(t)
	before := e.Members[old].proc.cmd.Args
	e.Members[old].Kill(t)
	e.Members[old].Restart(t)
	if after := e.Members[old].proc.cmd.Args; !slices.Equal(before, after) {
		t.Errorf("started again as %q, at first as %q", after, before)
	}
}

func TestWireRefusesAndDelays(t *testing.T) {
	w := StartWire(t, StartEmbeddedRedis(t).Addr)
	// ping returns why a new connection does not answer; nil when it does.
	ping := func() error {
		c, err := net.Dial("tcp", w.Addr())
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := io.WriteString(c, "*1\r\n$4\r\nPING\r\n"); err != nil {
			return err
		}
		_, err = bufio.NewReader(c).ReadString('\n')
		if err == nil && w.Open() == 0 {
			err = errors.New("no connection is counted")
		}
		return err
	}
	const delay = 100 * time.Millisecond
	w.Delay(delay)
	start := time.Now()
	if err := ping(); err != nil || time.Since(start) < 2*delay {
		t.Errorf("delayed: %v after %v", err, time.Since(start))
	}
	w.Refuse()
	if err := ping(); err == nil {
		t.Error("it refuses, and answers")
	}
	w.Heal()
	took := time.Hour
	for healed := time.Now(); took > delay && time.Since(healed) < 30*time.Second; took = time.Since(start) { // a busy machine delays too
		start = time.Now()
		if err := ping(); err != nil {
			t.Fatalf("healed: %v", err)
		}
	}
	if took > delay {
		t.Errorf("healed, and it still takes %v", took)
	}
}
