package zksource

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/zkadmin"
)

// leads makes the answer of a leader at noon. Its clock is as it would show by the same answer.
func leads(election uint64, uptime time.Duration, clock bounds) serverAnswer {
	return serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: "leader", Zxid: election<<32 | 3, Uptime: uptime}, clock: clock}
}

// follows makes that of another server, of whose clock nothing is known.
func follows() serverAnswer {
	return serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: "follower"}}
}

// clockAhead bounds a clock that was compared with ours at noon.
func clockAhead(by time.Duration) bounds { return readBetween(noon.Add(by), time.Second, noon, noon) }

// written is a node that was made in an election, by a clock that showed an instant.
func written(election int64, at time.Time) *zk.Stat {
	return &zk.Stat{Czxid: election<<32 | 7, Mzxid: election<<32 | 7, Ctime: at.UnixMilli(), Mtime: at.UnixMilli()}
}

// There was an election after the servers were asked: what the former leader said of its own service is not taken for the new one's,
// or a node that was made just before would be as old as that.
func TestAnAnswerFromBeforeAnElectionMakesNothingOld(t *testing.T) {
	answers := []serverAnswer{leads(4, 5*time.Minute, clockAhead(0)), follows()}
	var c clock
	c.measure(answers, true, noon)
	made, now := noon.Add(-8*time.Second), noon.Add(3*time.Second)
	c.dated(written(4, made), made)
	c.dated(written(5, noon.Add(2*time.Second)), now)
	for _, live := range []bool{false, true} {
		if live {
			c.created(now, noon.Add(2*time.Second), 5<<32|7)
		}
		k := c.ofLeader(answers)
		b := &inspect.Backend{Clock: k}
		if got := b.AgeAtLeast(made, 4<<32|7, now); k.Known != live || got > now.Sub(made) {
			t.Errorf("at least %v of %v: %+v", got, now.Sub(made), k)
		}
	}
}

// A leader's own service bounds from when on all that was there before is at least: by its clock, however ours is set later.
func TestHowLongALeaderLeadsBoundsWhatWasThereBefore(t *testing.T) {
	answers := []serverAnswer{leads(5, time.Minute, clockAhead(time.Hour)), follows()}
	for name, set := range map[string]time.Duration{"our clock is not set": 0, "our clock is set ahead": time.Hour, "our clock is set back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			var c clock
			c.measure(answers, true, noon)
			c.shift(set)
			now := noon.Add(set)
			b := &inspect.Backend{Clock: c.ofLeader(answers)}
			if got := b.AgeAtLeast(noon.Add(-time.Hour), 4<<32|7, now); got > time.Minute || got < time.Minute-2*time.Second {
				t.Errorf("at least %v: %+v", got, b.Clock)
			}
		})
	}
}

// Nothing that relates the former leader's clock to ours is taken for the new one's, whoever is heard of first: a node of the new
// election, or its leader.
func TestANewLeadersClockIsNotTheFormerOnes(t *testing.T) {
	former, later := []serverAnswer{leads(4, 0, clockAhead(time.Hour)), follows()}, []serverAnswer{follows(), leads(5, 0, bounds{})}
	for name, elected := range map[string]func(c *clock) []serverAnswer{
		"a node is read": func(c *clock) []serverAnswer {
			c.dated(written(5, noon), noon)
			return former
		},
		"the leader answers": func(c *clock) []serverAnswer {
			c.measure(later, true, noon)
			return later
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c clock
			c.dated(written(4, noon.Add(time.Hour)), noon)
			c.created(noon, noon.Add(time.Hour), 4<<32|7)
			c.measure(former, true, noon)
			if k := c.ofLeader(former); !k.Known || k.Offset != time.Hour {
				t.Fatalf("the former: %+v", k)
			}
			answers := elected(&c)
			if k := c.ofLeader(answers); k.Known || k.From != 5<<32 {
				t.Errorf("%+v", k)
			}
			for i := range answers {
				if b := c.ofServer(i, answers); i == 1 && b.known {
					t.Errorf("server %d: %+v", i, b)
				}
			}
			c.dated(written(5, noon), noon)
			c.created(noon.Add(time.Second), noon.Add(time.Second), 5<<32|8)
			if k := c.ofLeader(answers); !k.Known || k.Offset != 0 {
				t.Errorf("after a creation: %+v", k)
			}
		})
	}
}

// Two servers say that they lead: who was elected later does, and the other has not noticed yet.
func TestOfTwoLeadersTheOneElectedLaterDates(t *testing.T) {
	answers := []serverAnswer{leads(4, 0, clockAhead(time.Hour)), leads(5, 0, clockAhead(0)), follows()}
	var c clock
	c.measure(answers, true, noon)
	if k := c.ofLeader(answers); !k.Known || k.Offset != 0 || k.From != 5<<32 {
		t.Errorf("%+v", k)
	}
}

// The former leader does not know yet that it lost: it lags, and the others do not lag behind it.
func TestWhoLostTheElectionLags(t *testing.T) {
	former, now := leads(4, 0, bounds{}), leads(5, 0, bounds{})
	servers := []serverAnswer{former, now, {asked: true, status: now.status}}
	servers[2].status.Role = "follower"
	if i := leaderOf(servers); i != 1 {
		t.Fatalf("leader %d", i)
	}
	for i, lags := range []bool{true, false, false} {
		if got := behind(servers[i].status.Zxid, leaderZxid(servers)); got != lags {
			t.Errorf("server %d lags: %v", i, got)
		}
	}
}

// The former leader's clock was an hour behind, and is put right when it only follows: what it dated is not dated by what all clocks
// show since.
func TestAClockThatIsPutRightDoesNotDateWhatWasBefore(t *testing.T) {
	behind := []serverAnswer{{asked: true, at: noon, status: zkadmin.Status{Role: "follower", Zxid: 5<<32 | 3}, clock: clockAhead(-time.Hour)}, leads(5, 0, clockAhead(0))}
	right := []serverAnswer{behind[0], behind[1]}
	right[0].clock = clockAhead(0)
	var c clock
	c.dated(written(5, noon), noon)
	for i, answers := range [][]serverAnswer{behind, right} {
		c.measure(answers, true, noon)
		if k := c.ofLeader(answers); !k.Known || k.From < 5<<32 {
			t.Errorf("%d: %+v", i, k)
		}
	}
	later := []serverAnswer{right[0], leads(6, 0, clockAhead(0))}
	c.measure(later, true, noon)
	if k := c.ofLeader(later); !k.Known || k.From > 5<<32|8 || k.From <= 5<<32|3 {
		t.Errorf("another leader, and all clocks right: %+v", k)
	}
}

// What a leader dated before its clock was set, and we had not read by then, is not dated by its clock of now.
func TestALeadersClockThatIsSetDatesNothingThatWeReadLater(t *testing.T) {
	for name, zxid := range map[string]uint64{"it tells its newest transaction": 5<<32 | 50, "it does not": 0} {
		t.Run(name, func(t *testing.T) {
			a := serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: "standalone", Zxid: zxid}, clock: clockAhead(-time.Hour)}
			var c clock
			c.dated(written(5, noon.Add(-time.Hour)), noon)
			c.measure([]serverAnswer{a}, true, noon)
			a.clock = clockAhead(0)
			c.measure([]serverAnswer{a}, true, noon)
			made := written(5, noon.Add(-time.Hour))
			made.Czxid, made.Mzxid = 5<<32|40, 5<<32|40
			c.dated(made, noon)
			b := &inspect.Backend{Clock: c.ofLeader([]serverAnswer{a})}
			if got := b.AgeAtLeast(noon.Add(-time.Hour), made.Czxid, noon); b.Dates(made.Czxid) || got > 0 {
				t.Errorf("at least %v: %+v", got, b.Clock)
			}
			c.created(noon.Add(time.Second), noon.Add(time.Second), 5<<32|51)
			b.Clock = c.ofLeader([]serverAnswer{a})
			if !b.Dates(5<<32 | 51) {
				t.Errorf("what was seen live since: %+v", b.Clock)
			}
		})
	}
}

// Time that goes back from one transaction to the next shows that the leader's clock was set, before any inquiry does.
func TestTimeThatGoesBackShowsThatAClockWasSet(t *testing.T) {
	answers := []serverAnswer{{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}, clock: clockAhead(time.Hour)}}
	var c clock
	c.measure(answers, true, noon)
	c.dated(written(5, noon.Add(time.Hour)), noon)
	set := written(5, noon)
	set.Czxid, set.Mzxid = 5<<32|9, 5<<32|9
	c.dated(set, noon.Add(time.Second))
	if k := c.ofLeader(answers); k.Known || k.From != 5<<32|9 {
		t.Errorf("%+v", k)
	}
	answers[0].clock = clockAhead(time.Hour) // by a connection from before
	if c.measure(answers, true, noon.Add(time.Second)); c.ofLeader(answers).Known {
		t.Errorf("%+v", c.ofLeader(answers))
	}
}

// A creation that was heard of late is no closer than the bounds allow, and does not pass before what was measured.
func TestWhatIsHeardOfLateDoesNotMoveAClock(t *testing.T) {
	answers := []serverAnswer{leads(5, 0, readBetween(noon, time.Millisecond, noon, noon))}
	var c clock
	c.dated(written(5, noon), noon)
	c.measure(answers, true, noon)
	c.created(noon, noon.Add(-2*time.Second), 5<<32|7)
	if k := c.ofLeader(answers); !k.Known || k.Offset != 0 || k.Within > time.Millisecond {
		t.Errorf("%+v", k)
	}
	delete(c.servers, 0)
	if k := c.ofLeader(answers); !k.Known || k.Within < 2*time.Second {
		t.Errorf("without the measurement: %+v", k)
	}
}

// A connection of ours from long ago shows nothing of a clock that may have been set since.
func TestAnOldConnectionDoesNotShowAClockOfNow(t *testing.T) {
	a := serverAnswer{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}, clock: clockAhead(0)}
	for _, age := range []time.Duration{window, 3 * window} {
		var c clock
		c.measure([]serverAnswer{a}, true, noon.Add(age))
		if k := c.ofLeader([]serverAnswer{a}); k.Known != (age == window) {
			t.Errorf("%v: %+v", age, k)
		}
	}
}

// The AdminServer's date may be its proxy's: where it contradicts what our own connection shows, the server's own word counts, and
// nothing where that is old.
func TestADateThatContradictsTheServer(t *testing.T) {
	date, young := readBetween(noon, time.Second, noon, noon), clockAhead(time.Hour)
	old := young
	old.at = noon.Add(-2 * window)
	if b := date.against(young, noon); !b.known || b.low != time.Hour {
		t.Errorf("young: %+v", b)
	}
	if b := date.against(old, noon); b.known {
		t.Errorf("old: %+v", b)
	}
	if b := date.against(readBetween(noon, time.Millisecond, noon, noon), noon); !b.known || b.high != time.Millisecond {
		t.Errorf("agreed: %+v", b)
	}
}

// Our clock was an hour fast and is put right: nothing that we know of the leader's says since that it is ahead.
func TestAClockOfOursThatIsSetBackPutsNobodyAhead(t *testing.T) {
	a := []serverAnswer{{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}, clock: clockAhead(-time.Hour)}}
	var c clock
	c.dated(written(5, noon.Add(-time.Hour)), noon)
	c.measure(a, true, noon)
	c.shift(-time.Hour)
	a[0].clock = clockAhead(0)
	c.measure(a, true, noon)
	if k := c.ofLeader(a); !k.Known || k.Offset != 0 {
		t.Errorf("%+v", k)
	}
}

// A clock that was ahead, and is measured as right since, is right.
func TestAClockThatWasAheadIsMeasuredAnew(t *testing.T) {
	a := []serverAnswer{{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}}}
	var c clock
	c.dated(written(5, noon.Add(5*time.Second)), noon)
	if k := c.ofLeader(a); k.Known || k.Offset != 5*time.Second {
		t.Errorf("before: %+v", k)
	}
	later := noon.Add(time.Minute)
	a[0].clock = readBetween(later, time.Second, later, later)
	c.measure(a, true, later)
	if k := c.ofLeader(a); !k.Known || k.Offset != 0 {
		t.Errorf("%+v", k)
	}
}

// What a former leader made is no measure of the new one's clock, however late it is heard of.
func TestACreationOfBeforeTheElectionIsNoMeasure(t *testing.T) {
	var c clock
	c.dated(written(6, noon), noon)
	c.created(noon, noon.Add(-time.Hour), 5<<32|9)
	if c.known || c.stepped != 0 {
		t.Errorf("%+v", c)
	}
}

// A leader that stood still says that it leads until it is asked again: what it says then is taken whole, and its long service is
// nobody's of the new election.
func TestALeaderThatLostBetweenTwoQuestions(t *testing.T) {
	former, now := leads(5, 720*time.Hour, clockAhead(0)), leads(6, 0, clockAhead(0))
	for name, answers := range map[string][]serverAnswer{
		"both say so":                        {former, now},
		"it lost, and the new one is silent": {former, {asked: true, at: noon, status: zkadmin.Status{Role: "follower", Zxid: 6<<32 | 2}}},
		"one election, two leaders":          {leads(6, 720*time.Hour, clockAhead(0)), now},
	} {
		var c clock
		c.measure(answers, false, noon)
		b := &inspect.Backend{Clock: c.ofLeader(answers)}
		if got := b.AgeAtLeast(noon.Add(-time.Second), 5<<32|9, noon); got > time.Second || leader(answers) == 0 {
			t.Errorf("%s: at least %v, leader %d", name, got, leader(answers))
		}
	}
}

// The leader's clock is set ahead, and what shows it was not seen to be made: nothing that was there before is as old as that.
func TestAClockThatIsSetAheadMakesNothingOlder(t *testing.T) {
	later := noon.Add(time.Minute)
	for _, behind := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		for _, by := range []time.Duration{4 * time.Second, time.Hour} {
			answers := []serverAnswer{leads(5, 0, clockAhead(-behind))}
			var c clock
			c.measure(answers, true, noon)
			made := noon.Add(-behind)
			c.dated(written(5, made), noon)
			was := &inspect.Backend{Clock: c.ofLeader(answers)}
			set := written(5, later.Add(by-behind))
			set.Mzxid++
			c.dated(set, later)
			is := &inspect.Backend{Clock: c.ofLeader(answers)}
			if !was.Dates(5<<32|7) || is.Dates(5<<32|7) || is.AgeAtLeast(made, 5<<32|7, later) > time.Minute || is.AgeAtLeast(made, 4<<32|7, later) > time.Minute {
				t.Errorf("%v behind, set by %v: at least %v, %+v", behind, by, is.AgeAtLeast(made, 5<<32|7, later), is.Clock)
			}
			if off := is.Clock.Offset - max(0, -behind); off.Abs() > time.Second {
				t.Errorf("%v behind, set by %v: off by %v", behind, by, off)
			}
			c.shift(time.Hour)
			answers[0].clock = readBetween(later.Add(by-behind-time.Hour), time.Second, later, later)
			c.measure(answers, true, later)
			if k := c.ofLeader(answers); !k.Known || (k.Offset-by+behind+time.Hour).Abs() > time.Second || k.From <= 5<<32|3 {
				t.Errorf("%v behind, set by %v, measured anew: %+v", behind, by, k)
			}
		}
	}
}

// Our own clock is set: what the leader dated then was dated as far from it as the leader's clock is.
func TestAClockOfOursThatIsSetSetsNotTheLeaders(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		a := []serverAnswer{{asked: true, at: noon, status: zkadmin.Status{Role: "standalone"}, clock: clockAhead(0)}}
		var c clock
		c.measure(a, true, noon)
		c.dated(written(5, noon), noon.Add(time.Second))
		c.shift(by)
		if k := c.ofLeader(a); !k.Known || (k.Offset+by).Abs() > time.Second {
			t.Errorf("set by %v: %+v", by, k)
		}
	}
}

// What was seen live shows the clock of a leader that was set ahead since, or of one that led before, no more: the next look makes a session
// for its sake, and one in a while.
func TestAClockThatWasSeenLiveIsLookedAtOnceItIsAnother(t *testing.T) {
	answers := []serverAnswer{leads(4, 0, bounds{}), follows()}
	live := func() (c clock) {
		c.measure(answers, true, noon)
		c.dated(written(4, noon.Add(-time.Hour)), noon)
		c.created(noon, noon, 4<<32|7)
		return c
	}
	for name, tt := range map[string]struct {
		now    func(c *clock) []serverAnswer
		wanted bool
	}{
		"as it was": {func(*clock) []serverAnswer { return answers }, false},
		"set ahead": {func(c *clock) []serverAnswer {
			c.dated(written(4, noon.Add(time.Minute)), noon.Add(time.Second))
			return answers
		}, true},
		"another leads": {func(*clock) []serverAnswer { return []serverAnswer{leads(5, 0, bounds{}), follows()} }, true},
	} {
		c := live()
		is := tt.now(&c)
		if k := c.ofLeader(is); k.Known == tt.wanted || c.wanted(is, noon.Add(time.Second), false) != tt.wanted {
			t.Errorf("%s: %+v; wanted %v", name, k, !tt.wanted)
		}
		if !c.wanted(is, noon, true) {
			t.Errorf("%s: not by who looks once", name)
		}
		c.probedAt = noon
		if c.wanted(is, noon.Add(window), false) || c.wanted(is, noon.Add(window+1), false) != tt.wanted {
			t.Errorf("%s: after it was looked at", name)
		}
	}
}

// On an ensemble that is quiet since another leads, only sessions made for its sake show the clock of that leader: it is known from the
// first one on, without a gap between two of them.
func TestTheClockOfANewLeaderStaysKnownWhileNothingHappens(t *testing.T) {
	var c clock
	c.measure([]serverAnswer{leads(4, 0, bounds{}), follows()}, true, noon)
	c.dated(written(4, noon.Add(-time.Hour)), noon)
	c.created(noon, noon, 4<<32|7)
	known := false
	for now := noon.Add(time.Second); now.Before(noon.Add(4 * window)); now = now.Add(10 * time.Second) {
		answers := []serverAnswer{follows(), leads(5, 0, bounds{})}
		if c.wanted(answers, now, false) {
			answers[1].clock, c.probedAt = bounds{high: time.Millisecond, at: now, known: true}, now
			known = true
		}
		c.measure(answers, true, now)
		if is := c.ofLeader(answers).Known; is != known {
			t.Fatalf("%v after noon it is known: %v", now.Sub(noon), is)
		}
	}
	if !known {
		t.Error("nobody looked at it")
	}
}
