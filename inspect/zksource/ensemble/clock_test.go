package ensemble

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// everyone says that all servers of the target were asked.
const everyone, notEveryone = true, false

// leads is a leader's answer at noon, with these bounds of its clock.
func leads(election uint64, uptime time.Duration, clock bounds) answer {
	return answer{asked: true, at: noon, status: zkadmin.Status{Role: "leader", Zxid: election<<32 | 3, Uptime: uptime}, clock: clock}
}

// follows is a follower's answer at noon, which shows nothing of its clock.
func follows() answer {
	return answer{asked: true, at: noon, status: zkadmin.Status{Role: "follower"}}
}

// clockAhead bounds a clock that was that far ahead of ours at noon.
func clockAhead(by time.Duration) bounds { return readBetween(noon.Add(by), time.Second, noon, noon) }

// written is the creation of a node in that election, dated by the leader's clock.
func written(election int64, at time.Time) transaction { return transaction{election<<32 | 7, at} }

// shows checks that the leader's clock is known, this far ahead, from a transaction on.
func (c *clock) shows(t *testing.T, answers []answer, ahead time.Duration, from int64) {
	t.Helper()
	k := c.ofLeader(answers)
	must.True(t, k.Known, k)
	must.Equal(t, k.Offset, ahead, "offset")
	must.Equal(t, k.From, from, "dates transactions from")
}

// An election follows the inquiry. The former leader's uptime must not count for the new one, or a
// node created just before the election would seem as old as that uptime.
func TestElectionVoidsEarlierLeaderAnswers(t *testing.T) {
	t.Parallel()
	answers := []answer{leads(4, 5*time.Minute, clockAhead(0)), follows()}
	var c clock
	c.measure(nil, answers, everyone)
	made, now := noon.Add(-8*time.Second), noon.Add(3*time.Second)
	c.dated(written(4, made), made)
	c.dated(written(5, noon.Add(2*time.Second)), now)
	for _, live := range []bool{false, true} {
		if live {
			c.created(now, noon.Add(2*time.Second), 5<<32|7)
		}
		k := c.ofLeader(answers)
		b := &inspect.Backend{Clock: k}
		got := b.AgeAtLeast(made, 4<<32|7, now)
		must.True(t, k.Known == live && got <= now.Sub(made), "at least", got, "of", now.Sub(made), k)
	}
}

// The former leader's clock does not count for the new leader, whether a node of the new election
// or the leader's answer arrives first.
func TestElectionDiscardsFormerLeaderClock(t *testing.T) {
	t.Parallel()
	former, later := []answer{leads(4, 0, clockAhead(time.Hour)), follows()}, []answer{follows(), leads(5, 0, bounds{})}
	for _, read := range []bool{true, false} {
		t.Run(fmt.Sprintf("a node is read first %v", read), func(t *testing.T) {
			var c clock
			c.dated(written(4, noon.Add(time.Hour)), noon)
			c.created(noon, noon.Add(time.Hour), 4<<32|7)
			c.measure(nil, former, everyone)
			if k := c.ofLeader(former); !k.Known || k.Offset != time.Hour {
				t.Fatalf("the former leader's clock: %+v", k)
			}
			answers := former
			if read {
				c.dated(written(5, noon), noon)
			} else {
				answers = later
				c.measure(former, later, everyone)
			}
			k := c.ofLeader(answers) // once it answered, the other server's clock stands in for its own
			must.True(t, k.Known != read && k.From == 5<<32, k)
			must.True(t, !c.ofServer(1, answers).known, "known", c.ofServer(1, answers))
			c.dated(written(5, noon), noon)
			c.created(noon.Add(time.Second), noon.Add(time.Second), 5<<32|8)
			if k := c.ofLeader(answers); !k.Known || k.Offset != 0 {
				t.Errorf("after a creation: %+v", k)
			}
		})
	}
}

// If two servers claim to lead, the one elected later does.
func TestClockComesFromLaterElectedLeader(t *testing.T) {
	t.Parallel()
	answers := []answer{leads(4, 0, clockAhead(time.Hour)), leads(5, 0, clockAhead(0)), follows()}
	var c clock
	c.measure(nil, answers, everyone)
	c.shows(t, answers, 0, 5<<32)
}

// A former leader that has not noticed the election lags. The others do not lag behind it.
func TestDeposedLeaderLags(t *testing.T) {
	t.Parallel()
	former, now := leads(4, 0, bounds{}), leads(5, 0, bounds{})
	servers := []answer{former, now, {asked: true, status: now.status}}
	servers[2].status.Role = "follower"
	if i := leaderOf(servers); i != 1 {
		t.Fatalf("leader %d", i)
	}
	for i, lags := range []bool{true, false, false} {
		must.Equal(t, behind(servers[i].status.Zxid, leaderZxid(servers)), lags, "server", i, "lags")
	}
}

// A late event about a node that a former leader dated says nothing about the new leader's clock.
func TestCreationsBeforeElectionAreIgnored(t *testing.T) {
	t.Parallel()
	var c clock
	c.dated(written(6, noon), noon)
	c.created(noon, noon.Add(-time.Hour), 5<<32|9)
	must.True(t, !c.live.known && c.from == 0, c)
}

// A paused leader claims to lead until its next answer. Its uptime does not count for the new
// election.
func TestDeposedLeaderServiceTimeIsIgnored(t *testing.T) {
	t.Parallel()
	former, now := leads(5, 720*time.Hour, clockAhead(0)), leads(6, 0, clockAhead(0))
	for name, answers := range map[string][]answer{
		"both claim to lead":                    {former, now},
		"it lost, and the new leader is silent": {former, {asked: true, at: noon, status: zkadmin.Status{Role: "follower", Zxid: 6<<32 | 2}}},
		"two leaders of one election":           {leads(6, 720*time.Hour, clockAhead(0)), now},
	} {
		var c clock
		c.measure(nil, answers, notEveryone)
		b := &inspect.Backend{Clock: c.ofLeader(answers)}
		if got := b.AgeAtLeast(noon.Add(-time.Second), 5<<32|9, noon); got > time.Second || leader(answers) == 0 {
			t.Errorf("%s: at least %v, leader %d", name, got, leader(answers))
		}
	}
}

// If all clocks agree, every transaction can be dated under any leader. A new leader has another clock.
func TestClocksThatAgreeDateEverything(t *testing.T) {
	t.Parallel()
	right, off := follows(), follows()
	right.clock, off.clock = clockAhead(time.Hour), clockAhead(0)
	ahead := leads(5, 0, clockAhead(time.Hour))
	silent, former := leads(5, 0, bounds{}), leads(4, 0, clockAhead(time.Hour))
	for name, tt := range map[string]struct {
		answers []answer
		known   bool
		from    int64
		node    int64 // the election in which the node was created that was read
		asked   bool  // whether all servers were asked
	}{
		"all agree":                 {[]answer{ahead, right}, true, 0, 5, everyone},
		"one unknown":               {[]answer{ahead, follows()}, true, 5 << 32, 5, everyone},
		"one off":                   {[]answer{ahead, off}, true, 5 << 32, 5, everyone},
		"a new leader, all agree":   {[]answer{ahead, right}, true, 0, 4, everyone},
		"a new leader, one unknown": {[]answer{ahead, follows()}, true, 5 << 32, 4, everyone},
		"a new leader, one off":     {[]answer{ahead, off}, true, 5 << 32, 4, everyone},
		"the leader's unknown":      {[]answer{silent, right}, true, 5 << 32, 5, everyone},
		"the leader's unknown, the others disagree": {[]answer{silent, right, off}, false, 5 << 32, 5, everyone},
		"none known":                         {[]answer{silent, follows()}, false, 5 << 32, 5, everyone},
		"the leader not in the target":       {[]answer{right}, true, 5 << 32, 5, notEveryone},
		"a server without a role":            {[]answer{{asked: true, clock: clockAhead(time.Hour)}}, true, 0, 5, everyone},
		"the leader of an earlier election":  {[]answer{former, follows()}, false, 5 << 32, 5, everyone},
		"an earlier election, but all agree": {[]answer{former, right}, true, 0, 5, everyone},
	} {
		var c clock
		c.dated(written(tt.node, noon.Add(time.Hour)), noon)
		c.measure(nil, tt.answers, tt.asked)
		if k := c.ofLeader(tt.answers); k.Known != tt.known || k.From != tt.from || k.Known && k.Offset.Round(time.Minute) != time.Hour {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

// After the leader's clock jumps, earlier transactions are not dated by it, and none seems older.
func TestClockJumpVoidsEarlierDates(t *testing.T) {
	t.Parallel()
	const made, next = 5<<32 | 7, 5<<32 | 9
	later := noon.Add(time.Minute)
	is := func(ahead time.Duration) []answer { return []answer{leads(5, 0, clockAhead(ahead))} }
	after := func(c *clock, at time.Time) { // another creation, dated by the clock of that time
		c.dated(transaction{next, at}, later)
	}
	for name, tt := range map[string]struct {
		jump  func(c *clock) []answer
		known bool
	}{
		"ahead, as a node shows": {func(c *clock) []answer { after(c, later.Add(time.Hour)); return is(0) }, false},
		"ahead, as it answers": {func(c *clock) []answer {
			after(c, later.Add(time.Hour))
			c.measure(is(0), is(time.Hour), everyone)
			return is(time.Hour)
		}, true},
		"back, as a node shows": {func(c *clock) []answer {
			after(c, noon.Add(-time.Hour))
			return []answer{leads(5, 0, bounds{})}
		}, false},
		"ahead, as a creation shows": {func(c *clock) []answer {
			c.created(noon, noon, made)
			c.created(later, later.Add(time.Hour), next)
			return is(0)
		}, true},
	} {
		var c clock
		c.measure(nil, is(0), everyone)
		c.dated(written(5, noon), noon)
		answers := tt.jump(&c)
		b := &inspect.Backend{Clock: c.ofLeader(answers)}
		if b.Clock.Known != tt.known || b.Dates(made) || b.AgeAtLeast(noon, made, later) > time.Minute {
			t.Errorf("%s: %+v, at least %v", name, b.Clock, b.AgeAtLeast(noon, made, later))
		}
	}
}

// An ensemble that was wiped or restored counts its elections from a lower number.
func TestWipedEnsembleRestartsElectionCount(t *testing.T) {
	t.Parallel()
	var c clock
	c.dated(written(9, noon), noon)
	answers := []answer{leads(2, 0, clockAhead(0)), follows()}
	answers[1].status.Zxid = 2<<32 | 3
	c.measure(nil, answers, everyone)
	c.dated(written(2, noon), noon)
	b := (&inspect.Backend{Clock: c.ofLeader(answers)})
	must.True(t, b.Dates(2<<32|7), b.Clock)
}

// The Date header has whole seconds. Several answers bound a clock more closely than one, and a
// missing answer does not loosen the bounds.
func TestAnswersNarrowAClockTogether(t *testing.T) {
	t.Parallel()
	var c clock
	server := func(b bounds) []answer {
		return []answer{{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}, clock: b}}
	}
	first, second := server(bounds{low: 0, high: time.Second, at: noon, known: true}), server(bounds{low: 800 * time.Millisecond, high: 1800 * time.Millisecond, at: noon, known: true})
	c.measure(nil, first, everyone)
	c.measure(first, second, everyone)
	third := server(bounds{})
	c.measure(second, third, everyone)
	if b := third[0].clock; !b.known || b.low != 800*time.Millisecond || b.high != time.Second {
		t.Errorf("%+v", b)
	}
}

func TestClockTakesTheClosestBound(t *testing.T) {
	t.Parallel()
	var c clock
	server := 3 * time.Second // ahead of us
	for _, late := range []time.Duration{40, 2, 15} {
		seen := noon.Add(time.Hour)
		c.created(seen, seen.Add(server-late*time.Millisecond), 1)
	}
	got := c.live.low
	must.True(t, (got-server).Abs() <= 2*time.Millisecond, "offset", got)
}

// After the leader's clock is set ahead, the new offset does not date earlier transactions.
func TestClockStepDatesOnlyLaterTransactions(t *testing.T) {
	t.Parallel()
	leads := []answer{{asked: true, status: zkadmin.Status{Role: "standalone"}}}
	var c clock
	c.dated(transaction{7, noon}, noon)
	c.created(noon, noon, 7)
	k := c.ofLeader(leads)
	must.True(t, k.Known && k.From <= 7, "known from", k)
	must.Equal(t, k.Offset, 0, "offset")
	c.created(noon.Add(time.Minute), noon.Add(time.Minute+time.Hour), 8)
	c.shows(t, leads, time.Hour, 8)
}

// A date in the future shows how far the leader's clock is ahead. The last read of a transaction counts.
func TestLaterReadsCorrectTheClock(t *testing.T) {
	t.Parallel()
	var c clock
	for _, after := range []time.Duration{0, 20 * time.Second} {
		c.dated(written(5, noon.Add(time.Minute)), noon.Add(after))
		must.Equal(t, c.ofLeader(nil).Offset, time.Minute-after, "ahead, read", after, "later")
	}
}
