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

// at dates a lock's reading.
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

// applying is an observer without sources, to which a test sends updates one by one.
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

func TestASubscriptionKeepsTheNewestEvents(t *testing.T) {
	a := applying(t)
	a.send(0, Update{Backend: zkUp})
	for i := range maxEvents {
		id := ID{"zk", "/x"}
		a.send(i, Update{Put: []*Lock{{ID: id}}})
		a.send(i, Update{Gone: []ID{id}})
		a.publish()
	}
	s := must.Have(a.sub.Next(t.Context()))(t)
	must.Equal(t, len(s.Events), 10_000, "events")
	must.Equal(t, s.Dropped, 10_000, "dropped")
	must.Equal(t, s.Events[maxEvents-1].Kind, EventGone, "the last one")
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
			must.Equal(t, len(list.is), len(list.reported), "in step", step)
			for _, c := range list.is {
				must.True(t, list.reported[c.Name], "step", step, "did not report", c.Name)
			}
		}
	}
}
