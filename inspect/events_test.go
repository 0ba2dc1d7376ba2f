package inspect

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

var zkUp = &Backend{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeWatch, FirstPass: true}

func at(l *Lock, seconds int) *Lock {
	l.ReadAt = now.Add(time.Duration(seconds) * time.Second)
	return l
}

// moving is a clock set by the test.
type moving struct{ at time.Time }

func (m *moving) now() time.Time { return m.at }

// applied is an observer that applies updates without running, with its events.
type applied struct {
	*Observer
	clock *moving
	sub   *Subscription
}

func applying(t *testing.T) *applied {
	clock := &moving{now}
	o := NewObserver(clock.now, script{})
	a := &applied{o, clock, o.Subscribe()}
	a.reports(t)
	return a
}

func (a *applied) send(seconds int, u Update) {
	a.clock.at = now.Add(time.Duration(seconds) * time.Second)
	a.apply(sourceUpdate{0, u})
}

func (a *applied) reports(t *testing.T) string {
	a.publish()
	if len(a.sub.signal) == 0 {
		return ""
	}
	s := must.Have(a.sub.Next(t.Context()))(t)
	return short(s.Events)
}

func (a *applied) holder() Contender { return a.locks.get(ID{"zk", "/l"}).Holders[0] }

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	must.Equal(t, got, want, what)
}

func TestEventsBeginAfterTheFirstPass(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	expect(t, "what was there", a.reports(t), "")
	a.send(1, Update{Put: []*Lock{at(queueOf(t, "12"), 1)}})
	expect(t, "change", a.reports(t), "released 11, handover 11>12")
	other := queueOf(t, "20")
	other.ID.Path = "/new"
	a.send(2, Update{Put: []*Lock{other}, Gone: []ID{{"zk", "/l"}, {"zk", "/never"}}})
	expect(t, "new and gone", a.reports(t), "appeared, acquired 20, released 12, gone")
	down := *zkUp
	down.State = Down
	a.send(3, Update{Backend: &down})
	expect(t, "lost sight", a.reports(t), "backend")
	a.send(4, Update{Backend: &down})
	expect(t, "still", a.reports(t), "")
}

// Reading contenders that were only listed before causes no event and dates no grant.
func TestReadingListedContendersCausesNoEvent(t *testing.T) {
	listed := func(names ...string) (nodes []Znode) {
		for _, n := range names {
			nodes = append(nodes, Znode{Name: n})
		}
		return nodes
	}
	id := ID{"zk", "/l"}
	item := func(n int, session int64) Znode {
		return Znode{Name: "item-" + strconv.Itoa(1000000000+n), Known: true, EphemeralOwner: session, Czxid: int64(n), Created: now}
	}
	write := curatorNode("__WRIT__", 1, 7, 1)
	reads := []Znode{curatorNode("__READ__", 2, 8, 2), curatorNode("__READ__", 3, 7, 3)}
	for name, versions := range map[string][2]*Lock{
		"a work item that stays": {
			directoryLock(id, append(listed("item-1000000001"), item(2, 5), item(3, 6)), now),
			directoryLock(id, []Znode{item(1, 0), item(2, 5), item(3, 6)}, now),
		},
		"a reader that also waits to write": {
			directoryLock(id, listed(write.Name, reads[0].Name, reads[1].Name), now),
			directoryLock(id, append([]Znode{write}, reads...), now),
		},
	} {
		a := applying(t)
		a.send(0, Update{Put: versions[:1], Backend: zkUp})
		a.send(1, Update{Put: []*Lock{at(versions[1], 1)}})
		expect(t, name, a.reports(t), "")
		for _, h := range a.locks.get(id).Holders {
			must.True(t, h.HeldSince.IsZero(), name, h.Name, "has a grant date:", h.HeldSince)
		}
	}
}

// Grants that we saw keep their age when the backend's clock becomes known or is set.
func TestClockChangesKeepGrantAges(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.send(1, Update{Put: []*Lock{at(queueOf(t, "12 13"), 1)}})
	ahead := *zkUp
	ahead.Servers = []Server{{Addr: "a", State: ServerUp, ClockKnown: true, ClockOffset: 5 * time.Minute}}
	a.send(10, Update{Backend: &ahead})
	a.publish()
	s := a.Snapshot()
	l := s.Lock(ID{"zk", "/l"})
	if age, _ := s.Age(l, &l.Holders[0], l.Holders[0].HeldSince, a.clock.at); age.Duration != 9*time.Second {
		t.Errorf("held for %v, want 9s", age.Duration)
	}
	a.send(20, Update{Put: []*Lock{at(queueOf(t, "13"), 20)}})
	must.Equal(t, a.history().Holds.Max, 19*time.Second, "longest hold in its history")
}

// The last facts before a lost connection do not age, since they may be outdated.
func TestNothingIsDiagnosedOutOfSight(t *testing.T) {
	a := applying(t)
	asked := 0
	a.Diagnose([]Rule{{Name: "count", Lock: func(*Case) []Finding { asked++; return nil }}}, time.Minute)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	down := *zkUp
	down.State = Down
	a.send(1, Update{Backend: &down})
	asked = 0
	for i := range 2 * beats {
		a.onBeat(now.Add(time.Hour + time.Duration(i)*beat))
	}
	must.True(t, asked == 0, "checked", asked, "times while the backend was down")
	a.send(7200, Update{Backend: zkUp})
	a.send(7201, Update{Put: []*Lock{at(queueOf(t, "11 12"), 7201)}})
	asked = 0
	for i := range beats {
		a.onBeat(now.Add(2*time.Hour + time.Second + time.Duration(i)*beat))
	}
	must.True(t, asked != 0, "not checked again")
}

func TestForcedReleaseIsReportedAsForced(t *testing.T) {
	a := applying(t)
	l := queueOf(t, "11 12")
	a.send(0, Update{Put: []*Lock{l}, Backend: zkUp})
	a.Forced(l.ID, l.Holders[0].Name)
	a.send(1, Update{Put: []*Lock{at(queueOf(t, "12"), 1)}})
	expect(t, "forced", a.reports(t), "forced 11, handover 11>12")
	a.Forced(l.ID, queueOf(t, "12").Holders[0].Name)
	a.send(60, Update{Put: []*Lock{at(queueOf(t, ""), 60)}})
	expect(t, "long after", a.reports(t), "released 12")
}

// A sandbox ends sessions at once. Unless announced, that looks like a release.
func TestAnnouncedSessionEndIsExpiry(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.Expired("zk", 11)
	a.Expired("other", 12)
	a.Expired("zk", 12)() // the expiry failed and is withdrawn
	a.send(1, Update{Put: []*Lock{at(queueOf(t, "12"), 1)}})
	expect(t, "ended", a.reports(t), "expired 11, handover 11>12")
	a.send(2, Update{Put: []*Lock{at(queueOf(t, ""), 2)}})
	expect(t, "announced for another backend, and withdrawn", a.reports(t), "released 12")
}

// A forgotten lock is gone once it is free, even if we see that late, and it may come back.
func TestTemporaryLockLeavesOnceFree(t *testing.T) {
	a := applying(t)
	l := queueOf(t, "11 12")
	a.send(0, Update{Put: []*Lock{l}, Backend: zkUp})
	a.Forget(l.ID)
	beat := func(second int) {
		a.clock.at = now.Add(time.Duration(second) * time.Second)
		a.onBeat(a.clock.at)
	}
	beat(1)
	expect(t, "held", a.reports(t), "")
	a.send(2, Update{Put: []*Lock{at(queueOf(t, ""), 2)}})
	beat(3)
	if reported := a.reports(t); !strings.HasSuffix(reported, "gone") || a.locks.get(l.ID) != nil {
		t.Errorf("free: reported %q, listed %v", reported, a.locks.get(l.ID) != nil)
	}
	a.send(4, Update{Gone: []ID{l.ID}})
	expect(t, "gone twice", a.reports(t), "")
	a.send(200, Update{Put: []*Lock{at(queueOf(t, ""), 200)}})
	beat(201)
	must.True(t, a.locks.get(l.ID) != nil, "removed long after it was forgotten")
}

// A grant survives a gap if its entry is the same. Otherwise its time is unknown.
func TestGrantsSurviveBlindGaps(t *testing.T) {
	unknown := func() *Lock {
		l := FreeDirectory(ID{"zk", "/l"}, nil, now)
		l.State = StateUnknown
		return l
	}
	down := *zkUp
	down.State = Down
	blindness := map[string][2]Update{
		"a lock that cannot be read": {{Put: []*Lock{unknown()}}, {}},
		"a backend that is down":     {{Backend: &down}, {Backend: zkUp}},
	}
	for name, b := range blindness {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct {
				after    string
				held     time.Time
				reported string
			}{
				{"12 13", now.Add(time.Second), ""},
				{"13", time.Time{}, "ended 12, acquired 13"},
				{"14", time.Time{}, "ended 12, acquired 14, gone 13"},
			} {
				a := applying(t)
				a.send(0, Update{Put: []*Lock{queueOf(t, "11 12 13")}, Backend: zkUp})
				a.send(1, Update{Put: []*Lock{at(queueOf(t, "12 13"), 1)}})
				a.reports(t)
				a.send(2, b[0])
				a.send(5, b[1])
				a.reports(t)
				a.send(6, Update{Put: []*Lock{at(queueOf(t, tt.after), 6)}})
				expect(t, tt.after, a.reports(t), tt.reported)
				if got := a.holder().HeldSince; !got.Equal(tt.held) {
					t.Errorf("%s: held since %v, want %v", tt.after, got, tt.held)
				}
			}
		})
	}
	// The lock is read long after the backend came back.
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
	a.send(1, Update{Backend: &down})
	a.send(2, Update{Backend: zkUp})
	a.reports(t)
	a.send(60, Update{Put: []*Lock{at(queueOf(t, "12"), 60)}})
	expect(t, "later", a.reports(t), "released 11, handover 11>12")
	must.True(t, !a.holder().HeldSince.IsZero(), "later: the grant has no date")
}

func TestHolderWithoutSessionHasExpired(t *testing.T) {
	silent := Session{ID: 11, Timeout: 10 * time.Second, LastContact: now.Add(20 * time.Second)}
	recent := silent
	recent.LastContact = now.Add(29 * time.Second)
	waited := silent // its server answered at once, and another one six seconds later
	waited.LastContact = now.Add(21 * time.Second)
	for name, tt := range map[string]struct {
		sessions map[int64]Session
		all      bool
		took     int // seconds to read them
		want     string
	}{
		"not in a table of all":      {map[int64]Session{12: {ID: 12}}, true, 0, "expired 11, handover 11>12"},
		"not in a table of some":     {map[int64]Session{12: {ID: 12}}, false, 0, "released 11, handover 11>12"},
		"silent for too long":        {map[int64]Session{11: silent}, true, 0, "expired 11, handover 11>12"},
		"alive a moment before":      {map[int64]Session{11: recent}, true, 0, "released 11, handover 11>12"},
		"no time of last contact":    {map[int64]Session{11: {ID: 11}}, true, 0, "released 11, handover 11>12"},
		"heard from before one hung": {map[int64]Session{11: waited}, true, 6, "released 11, handover 11>12"},
		"missing before that":        {map[int64]Session{12: {ID: 12}}, true, 6, "expired 11, handover 11>12"},
		"created while one hung":     {map[int64]Session{12: {ID: 12}}, true, 26, "released 11, handover 11>12"},
		"no server reported any":     {nil, false, 0, "released 11, handover 11>12"},
	} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
		a.send(30, Update{Sessions: tt.sessions, AllSessions: tt.all, SessionsAt: now.Add(time.Duration(30-tt.took) * time.Second)})
		a.reports(t)
		a.send(31, Update{Put: []*Lock{at(queueOf(t, "12"), 31)}})
		expect(t, name, a.reports(t), tt.want)
	}
}

func TestASubscriptionKeepsTheNewestEvents(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Backend: zkUp})
	for i := range maxEvents {
		id := ID{"zk", "/x"}
		a.send(i, Update{Put: []*Lock{{ID: id}}})
		a.send(i, Update{Gone: []ID{id}})
		a.publish()
	}
	s, err := a.sub.Next(t.Context())
	if err != nil || len(s.Events) != maxEvents || s.Dropped != maxEvents || s.Events[maxEvents-1].Kind != EventGone {
		t.Errorf("%d events, %d dropped, %v", len(s.Events), s.Dropped, err)
	}
	must.Equal(t, a.reports(t), "", "reported again")
}

// A release is certain only if the session cannot have expired.
func TestPossibleSessionExpiryMakesReleaseUncertain(t *testing.T) {
	known := *zkUp
	known.Servers = []Server{{Addr: "a", State: ServerUp, ClockKnown: true}}
	disturbed := *zkUp
	disturbed.DisturbedAt = now.Add(12 * time.Second)
	heard := func(second int) map[int64]Session {
		return map[int64]Session{11: {ID: 11, Timeout: 10 * time.Second, LastContact: now.Add(time.Duration(second) * time.Second)}}
	}
	for name, tt := range map[string]struct {
		backend  *Backend
		sessions []map[int64]Session // reported at 18 s and 19 s
		end      int
		unsure   bool
		want     EventKind
	}{
		"no sessions":                                       {zkUp, nil, 31, true, EventReleased},
		"no sessions, created a moment before":              {&known, nil, 0, false, EventReleased},
		"no sessions, created a while before":               {&known, nil, 5, true, EventReleased},
		"heard from less than its timeout ago":              {zkUp, []map[int64]Session{heard(17)}, 25, false, EventReleased},
		"heard from over its timeout ago":                   {zkUp, []map[int64]Session{heard(17)}, 27, true, EventReleased},
		"heard from when reported before":                   {zkUp, []map[int64]Session{heard(17), {}}, 25, false, EventReleased},
		"heard from long ago, and closed at once":           {zkUp, []map[int64]Session{heard(8), {}}, 19, true, EventReleased},
		"connected to no server, since one stopped serving": {&disturbed, []map[int64]Session{heard(15), {}}, 27, true, EventReleased},
		"connected to no server beyond its timeout":         {zkUp, []map[int64]Session{heard(15), {}}, 27, false, EventExpired},
		"on its way to another server when asked":           {zkUp, []map[int64]Session{heard(17), {}}, 27, true, EventReleased},
	} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11")}, Backend: tt.backend})
		for i, sessions := range tt.sessions {
			a.send(18+i, Update{Sessions: sessions, AllSessions: true})
		}
		a.reports(t)
		a.send(tt.end, Update{Put: []*Lock{at(queueOf(t, ""), tt.end)}})
		if len(a.events) != 1 || a.events[0].Kind != tt.want || (a.events[0].Certainty != recipe.Certain) != tt.unsure {
			t.Errorf("%s: %+v", name, a.events)
		}
	}
}

// The events of a lock that was empty at first yield its holders and waiters.
func TestEventsRebuildTheQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a := applying(t)
	a.send(0, Update{Put: []*Lock{queueOf(t, "")}, Backend: zkUp})
	holders, waiters := map[Untrusted]bool{}, map[Untrusted]bool{}
	var queue []string
	for step := range 2000 {
		queue = slices.DeleteFunc(queue, func(string) bool { return random.IntN(5) == 0 })
		for range random.IntN(3) {
			queue = append(queue, []string{"", "r"}[random.IntN(2)]+strconv.Itoa(10_000+10*step+len(queue)))
		}
		l := at(queueOf(t, strings.Join(queue, " ")), step)
		a.send(step, Update{Put: []*Lock{l}})
		for _, e := range a.events {
			switch c := e.Contender; e.Kind {
			case EventAcquired, EventHandover:
				delete(waiters, c.Name)
				holders[c.Name] = true
			case EventWaiting:
				waiters[c.Name] = true
			case EventGone:
				delete(waiters, c.Name)
			case EventReleased:
				delete(holders, c.Name)
			default:
				t.Fatalf("step %d: %s", step, e.Kind)
			}
		}
		a.publish()
		for _, list := range []struct {
			is       []Contender
			reported map[Untrusted]bool
		}{{l.Holders, holders}, {l.Waiters, waiters}} {
			if len(list.is) != len(list.reported) || slices.ContainsFunc(list.is, func(c Contender) bool { return !list.reported[c.Name] }) {
				t.Fatalf("step %d: reported %v, is %v", step, list.reported, list.is)
			}
		}
	}
}

// A finding that comes and goes with every handover is reported once, and cleared only if it stays
// away.
func TestFlappingFindingIsReportedOnce(t *testing.T) {
	a := applying(t)
	a.Diagnose([]Rule{{Name: "mixed", Lock: func(c *Case) []Finding {
		if len(c.Lock.Waiters) > 0 {
			return []Finding{{Rule: "mixed", Severity: Warning}}
		}
		return nil
	}}}, time.Minute)
	var kinds []EventKind
	count := func() {
		for _, e := range a.events {
			if e.Finding != nil {
				kinds = append(kinds, e.Kind)
			}
		}
		a.events = nil
	}
	step := func(second int, u Update) {
		a.send(second, u)
		a.onBeat(a.clock.at)
		count()
	}
	step(0, Update{Backend: zkUp})
	for second := 1; second < 40; second += 3 {
		step(second, Update{Put: []*Lock{at(queueOf(t, "11 12"), second)}})
		step(second+1, Update{Put: []*Lock{at(queueOf(t, "12"), second+1)}})
		step(second+2, Update{Gone: []ID{{"zk", "/l"}}})
	}
	must.Same(t, kinds, []EventKind{EventFinding}, "reported")
	step(60, Update{})
	if !slices.Equal(kinds, []EventKind{EventFinding, EventCleared}) || len(a.cleared) > 0 {
		t.Errorf("reported at the end: %v", kinds)
	}
}
