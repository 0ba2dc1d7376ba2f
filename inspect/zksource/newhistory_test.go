package zksource

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zkadmin"
	"lockscope/internal/suspend"
)

// An ensemble was wiped, or restored from a copy, and counts its elections from lower on: its leader's clock is known again when all
// have said so twice.
func TestElectionsThatAreCountedAnew(t *testing.T) {
	one := func(role string, zxid uint64, failed error) serverAnswer {
		return serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: role, Zxid: zxid}, clock: clockAhead(0), failed: failed}
	}
	const before, now = 9<<32 | 7, 2<<32 | 3
	all := []serverAnswer{one("leader", now, nil), one("follower", now, nil)}
	silent := []serverAnswer{all[0], one("", now, errors.New("no answer"))}
	untold := []serverAnswer{all[0], one("follower", 0, nil)}
	newer := []serverAnswer{all[0], one("follower", before, nil)}
	headless := []serverAnswer{all[1], all[1]}
	type inquiries [][]serverAnswer
	for name, tt := range map[string]struct {
		inquiries inquiries
		known     bool
	}{
		"all, once":                {inquiries{all}, false},
		"all, twice":               {inquiries{all, all}, true},
		"one is silent":            {inquiries{silent, silent, silent}, false},
		"one is silent in between": {inquiries{all, silent, all}, false},
		"one does not tell":        {inquiries{untold, untold}, false},
		"one has what there was":   {inquiries{all, newer, all}, false},
		"nobody leads":             {inquiries{headless, headless}, false},
	} {
		var c clock
		c.dated(written(9, noon), noon)
		c.stepped = before
		for _, answers := range tt.inquiries {
			c.measure(answers, false, noon)
		}
		later := noon.Add(time.Minute)
		c.dated(written(2, later), later)
		b := &inspect.Backend{Clock: c.ofLeader(all)}
		if b.Dates(2<<32|7) != tt.known || b.Dates(2<<32|3) {
			t.Errorf("%s: %+v", name, b.Clock)
		}
	}
}

// A former leader's clock was ahead: what it dated says nothing of who leads now, and is measured.
func TestWhatAFormerLeaderDatedAheadDoesNotHideTheClockOfNow(t *testing.T) {
	answers := []serverAnswer{leads(5, 0, clockAhead(0)), follows()}
	var c clock
	c.measure(answers, true, noon)
	c.dated(written(4, noon.Add(time.Hour)), noon.Add(time.Second))
	if k := c.ofLeader(answers); !k.Known || k.Offset != 0 || k.From != 5<<32 {
		t.Errorf("%+v", k)
	}
}

// A member lags since its leader had answered, at the latest, until it was asked, at the earliest: an answer that comes late makes nobody
// lag.
func TestAnAnswerThatComesLateIsNoLag(t *testing.T) {
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	r := &run{}
	servers := []serverAnswer{
		{asked: true, asOf: noon, at: at(2000), status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: at(1100), at: at(2900), status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 8}},
	}
	if r.measureLag(servers); servers[1].lag != 0 {
		t.Errorf("lag %v", servers[1].lag)
	}
	clock := []time.Time{noon, at(3000)}
	q := inquiry{now: func() time.Time {
		now := clock[0]
		clock = clock[1:]
		return now
	}}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	if a := q.readStatus(t.Context(), zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: refuse})); !a.asOf.Equal(noon) || !a.at.Equal(at(3000)) {
		t.Errorf("as of %v, at %v", a.asOf, a.at)
	}
}

// Our clock is set, and the last that the servers answered is of before, or came just after that: it was heard as long ago as it was, and is
// counted once.
func TestWhatWasHeardBeforeOurClockWasSetIsAsOld(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		at := time.Now()
		now := at
		r := testRun(t, Config{Now: func() time.Time { return now }})
		if r.heardOf(time.Time{}); !r.heardAt.IsZero() {
			t.Errorf("nothing was heard: %v", r.heardAt)
		}
		r.attend()
		now = sourcetest.WallSet(t, at.Add(time.Second), by)
		r.attend()
		if r.heardOf(at); !r.heardAt.Equal(at.Add(by)) {
			t.Errorf("set by %v: %v, was %v", by, r.heardAt, at)
		}
		for _, again := range []struct{ heard, now time.Time }{
			{now, sourcetest.WallSet(t, now.Add(2*time.Second), by)},                                                   // it is set again before the loop looks at it
			{sourcetest.WallSet(t, now.Add(3*time.Second), 2*by), sourcetest.WallSet(t, now.Add(4*time.Second), 2*by)}, // and before the answer, too
		} {
			turned := now
			now = again.now
			r.heardAt = time.Time{}
			r.heardOf(again.heard)
			want := byClockOf(now, again.heard)
			if r.attend(); !r.heardAt.Equal(want) {
				t.Errorf("set by %v: %v, which was %v", now.Round(0).Sub(turned.Round(0)), r.heardAt, want.Round(0))
			}
		}
	}
}

// The machine was suspended since the loop looked at our clock, and an answer came before it does again: nobody has set the clock.
func TestWhatIsHeardRightAfterASuspensionIsOfThen(t *testing.T) {
	const slept = 8 * time.Hour
	now := time.Now()
	r := testRun(t, Config{Now: func() time.Time { return now }})
	r.attend()
	suspend.Pretend(slept)
	heard := sourcetest.WallSet(t, time.Now(), slept)
	r.heardOf(heard)
	now = heard.Add(time.Second)
	if r.attend(); !r.heardAt.Equal(heard) || r.clock.least != 0 {
		t.Errorf("%v, was %v; the servers' clocks are %v off", r.heardAt, heard.Round(0), r.clock.least)
	}
}

// A member that is asked again may have read its newest transaction as soon as it was asked: however late that answer comes, the member is
// known to have lacked something only until then.
func TestASecondAnswerThatComesLateIsNoLag(t *testing.T) {
	const limit = 10 * time.Second
	var asked time.Time // the member, again
	speaker := func(role string, hears func()) *zkadmin.Server {
		return zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, its := net.Pipe()
			go func() {
				defer its.Close()
				word := make([]byte, 4)
				if _, err := io.ReadFull(its, word); err != nil {
					return
				}
				if string(word) == "srvr" {
					hears()
				}
				_, _ = io.WriteString(its, "Zookeeper version: 3.9.3\nZxid: 0x100000008\nMode: "+role+"\nNode count: 5\n")
			}()
			return ours, nil
		}})
	}
	before := time.Now().Add(-2 * lagGrace)
	servers := []serverAnswer{
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 7}},
	}
	q := inquiry{now: time.Now, limit: limit, admins: []*zkadmin.Server{
		speaker("leader", func() {}), speaker("follower", func() { asked = time.Now() }),
	}}
	q.compareMembers(t.Context(), servers)
	if a := servers[1]; a.status.Zxid != 1<<32|8 || asked.IsZero() || a.asOf.After(asked) {
		t.Errorf("%#x as of %v, asked at %v", a.status.Zxid, a.asOf, asked)
	}
}
