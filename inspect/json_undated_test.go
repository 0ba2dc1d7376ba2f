package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// An age by a clock that nobody has compared with ours is told apart, in a document and in an event.
func TestAgesByAnUnknownClockInTheJSON(t *testing.T) {
	came := now.Add(-time.Hour)
	entries := func(czxid int64) *Lock {
		l := queueOf(t, "11 12 13")
		h, w, undated := &l.Holders[0], &l.Waiters[0], &l.Waiters[1]
		h.Since, h.HeldSince, h.Czxid, w.Since, w.Czxid = came, came, czxid, came, czxid+1
		undated.Since = time.Time{}
		return l
	}
	for _, one := range []struct {
		clock   LeaderClock
		unknown int
	}{
		{LeaderClock{From: 1}, 2},
		{LeaderClock{From: 5 << 32, Known: true}, 2}, // made under an earlier leader
		{LeaderClock{From: 1, Known: true}, 0},
		{LeaderClock{}, 0},
	} {
		b := &Backend{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeWatch, FirstPass: true, Clock: one.clock}
		l := entries(2)
		text, err := json.Marshal(NewSnapshot(now, []*Backend{b}, []*Lock{l}).JSON())
		if err != nil {
			t.Fatal(err)
		}
		validate(t, text)
		if n := strings.Count(string(text), `"age_ms":3600000`); n != 2 {
			t.Errorf("%+v: %d ages in %s", one.clock, n, text)
		}
		if n := strings.Count(string(text), `"age_known":false`); n != one.unknown || n != strings.Count(string(text), "age_known") {
			t.Errorf("%+v: %d of unknown age in %s", one.clock, n, text)
		}
		line, err := json.Marshal(EventJSON(Event{Kind: EventAcquired, At: now, Lock: l.ID, Contender: &l.Holders[0], Previous: &l.Waiters[0]}, b))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(line), `"age_known":false`); n != one.unknown {
			t.Errorf("%+v: %d of unknown age in %s", one.clock, n, line)
		}
	}
}

// A session was dated by the server that its client is connected to, whose clock is not the leader's.
func TestASessionIsAsOldAsItsServerSays(t *testing.T) {
	b := &Backend{
		Name: "zk", Kind: ZooKeeper, Clock: LeaderClock{From: 1, Known: true, Offset: time.Hour},
		Servers: []Server{{Addr: "a", ClockKnown: true, ClockOffset: time.Minute}, {Addr: "b"}},
	}
	l := &Lock{ID: ID{"zk", "/l"}}
	s := NewSnapshot(now, []*Backend{b}, []*Lock{l})
	connected := Session{Server: "a", Established: now.Add(-time.Minute)}
	if got, ok := s.Established(l, connected, now); !ok || !got.Known || got.Duration != 2*time.Minute {
		t.Errorf("%+v, %v", got, ok)
	}
	connected.Server = "b"
	if got, ok := s.Established(l, connected, now); !ok || got.Known {
		t.Errorf("its clock is not known: %+v, %v", got, ok)
	}
	connected.Established = time.Time{}
	if _, ok := s.Established(l, connected, now); ok {
		t.Error("of an unknown time")
	}
}
