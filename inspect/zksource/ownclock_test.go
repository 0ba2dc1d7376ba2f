package zksource

import (
	"testing"
	"time"

	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/internal/stall"
	"lockscope/inspect/zkadmin"
	"lockscope/internal/connect"
)

// connected is a run that has been connected for a quarter of an hour to a server whose clock is three seconds ahead, and what that answers.
// It has seen a creation live, and asked the server once.
func connected(t *testing.T) (r *run, began time.Time, answer func(now time.Time) []serverAnswer) {
	began = time.Now()
	const ahead = 3 * time.Second
	l := &link{tap: &connect.Tap{}, session: true, dialled: began, greeted: began.Add(time.Millisecond)}
	conns := []zkadmin.Connection{{Established: began.Round(0).Add(ahead)}}
	answer = func(now time.Time) []serverAnswer {
		return []serverAnswer{{
			asked: true, at: now, asOf: now, status: zkadmin.Status{Role: "standalone"}, oldest: conns[0].Established,
			clock: establishedOn(l, conns, now),
		}}
	}
	var now time.Time
	r = testRun(t, Config{Now: func() time.Time { return now }})
	now = began.Add(14 * time.Minute)
	r.cfg.Now = func() time.Time { return now }
	r.clock.created(now, now.Round(0).Add(ahead), 7)
	r.identify(identity{servers: answer(now)})
	r.turned = now
	return r, began, answer
}

// Our own clock is set back by an hour when we have been connected for a while: what the server says of our connection is compared with
// when that was by our clock of now, and what was known live still counts.
func TestAClockOfOursThatIsSetDoesNotMisdateAnOldConnection(t *testing.T) {
	for name, askedBefore := range map[string]bool{"asked after": false, "set while the server answers": true} {
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			t.Run(name+" by "+by.String(), func(t *testing.T) {
				r, began, answer := connected(t)
				before := began.Add(15 * time.Minute)
				now := sourcetest.WallSet(t, before, by)
				r.cfg.Now = func() time.Time { return now }
				r.clock.shift(stall.SetAhead(r.turned, now))
				answers := answer(now)
				if askedBefore {
					answers = answer(before)
				}
				r.identify(identity{servers: answers})
				want := 3*time.Second - by
				if !r.clock.known || r.clock.stepped != 0 || (r.clock.offset()-want).Abs() > time.Millisecond {
					t.Errorf("live: %+v, want %v", r.clock, want)
				}
				if b := r.clock.servers[0]; !b.known || (b.middle()-want).Abs() > 2*time.Millisecond {
					t.Errorf("by the connection: %+v, want %v", b, want)
				}
			})
		}
	}
}

// What was measured lately is as fresh after our own clock was set.
func TestAClockOfOursThatIsSetMakesNothingOld(t *testing.T) {
	began := time.Now()
	var c clock
	c.measure([]serverAnswer{{asked: true, clock: readBetween(began, time.Second, began, began)}}, true, began)
	now := sourcetest.WallSet(t, began.Add(time.Minute), -time.Hour)
	c.shift(stall.SetAhead(began, now))
	c.measure([]serverAnswer{{asked: true}}, true, now)
	if b := c.servers[0]; !b.known || b.low != time.Hour {
		t.Errorf("%+v", b)
	}
}

// A reason to connect anew was as long ago after our own clock was set.
func TestAClockOfOursThatIsSetMovesTheLastReasonToConnectAnew(t *testing.T) {
	now := time.Now()
	r := testRun(t, Config{Now: func() time.Time { return now }})
	r.attend()
	if now = sourcetest.WallSet(t, now, -time.Hour); !r.disturbedAt.IsZero() {
		t.Errorf("disturbed at %v", r.disturbedAt)
	}
	if r.attend(); !r.disturbedAt.IsZero() {
		t.Errorf("there was none: %v", r.disturbedAt)
	}
	r.disturb(now)
	at := r.disturbedAt
	r.heardAt = at
	now = sourcetest.WallSet(t, now, -time.Hour)
	if r.attend(); !r.disturbedAt.Equal(at.Add(-time.Hour)) || !r.heardAt.Equal(r.disturbedAt) {
		t.Errorf("%v and %v, was %v", r.disturbedAt, r.heardAt, at)
	}
}

// Our own clock is set back while the servers answer: their tables were asked for as long ago as before.
func TestAClockOfOursThatIsSetDatesTheTablesAnew(t *testing.T) {
	began := time.Now()
	now := sourcetest.WallSet(t, began.Add(time.Second), -time.Hour)
	who := identity{sessionsAt: began, asked: began, servers: []serverAnswer{{asked: true, at: began}}}
	byPresentClock(&who, now)
	for what, at := range map[string]time.Time{"sessions": who.sessionsAt, "watches": who.asked, "an answer": who.servers[0].at} {
		if ago := now.Round(0).Sub(at.Round(0)); ago != time.Second {
			t.Errorf("%s: %v ago", what, ago)
		}
	}
	var none identity
	if byPresentClock(&none, now); !none.sessionsAt.IsZero() || !none.asked.IsZero() {
		t.Errorf("%+v", none)
	}
}
