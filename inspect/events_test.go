package inspect

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

var (
	zkUp   = &Backend{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeWatch, FirstPass: true}
	zkOnce = &Backend{Name: "zk", Kind: ZooKeeper, State: Connected, Mode: ModeOnce, FirstPass: true}
)

func at(l *Lock, seconds int) *Lock {
	l.ReadAt = now.Add(time.Duration(seconds) * time.Second)
	return l
}

// applied is an observer that applies updates without running, with its events.
type applied struct {
	*Observer
	sub *Subscription
	at  time.Time // its clock
	halfway
	id    ID   // of the last lock in its timeline
	asked bool // the rules, about a lock
}

func applying(t *testing.T) *applied {
	a := &applied{at: now, id: ID{"zk", "/l"}}
	a.Observer = NewObserver(func() time.Time { return a.at }, script{})
	a.sub = a.Subscribe()
	a.reports(t)
	return a
}

func (a *applied) send(seconds int, u Update) {
	a.at = now.Add(time.Duration(seconds) * time.Second)
	a.apply(sourceUpdate{0, u})
}

func (a *applied) reports(t *testing.T) string {
	a.publish()
	if len(a.sub.signal) == 0 {
		return ""
	}
	return short(a.next(t).Events)
}

// next publishes and returns a snapshot.
func (a *applied) next(t *testing.T) *Snapshot {
	a.publish()
	return must.Have(a.sub.Next(t.Context()))(t)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	must.Equal(t, got, want, what)
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
		a.onBeat(a.at)
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
