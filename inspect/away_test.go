package inspect

import (
	"testing"
	"time"
)

// A client whose connection broke is in no session table, but its session lasts until its timeout.
// If its entry disappears before that, it was released or deleted, however many tables lack the
// session.
func TestSessionGoneEarlyWasReleased(t *testing.T) {
	with := map[int64]Session{11: {ID: 11, Timeout: time.Minute, LastContact: now.Add(9 * time.Second)}, 12: {ID: 12}}
	without := map[int64]Session{12: {ID: 12}}
	for _, tt := range []struct {
		tables []int // seconds of the tables that lack the session
		gone   int
		want   string
	}{
		{[]int{13, 16}, 16, "released 11, handover 11>12"},
		{[]int{13, 16}, 20, "released 11, handover 11>12"},
		{[]int{20, 30, 40, 50, 60}, 65, "released 11, handover 11>12"},
		{[]int{20, 30, 40, 50, 60}, 70, "expired 11, handover 11>12"},
	} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
		a.send(10, Update{Sessions: with, AllSessions: true})
		for _, second := range tt.tables {
			a.send(second, Update{Sessions: without, AllSessions: true})
		}
		a.reports(t)
		a.send(tt.gone, Update{Put: []*Lock{at(queueOf(t, "12"), tt.gone)}})
		expect(t, "gone", a.reports(t), tt.want)
		a.send(200, Update{Sessions: without, AllSessions: true})
		if n := len(a.byName["zk"].away); n != 0 {
			t.Errorf("%d expired sessions are still remembered", n)
		}
	}
}

// A session missing from an older table has expired, whatever the newest table has. One missing
// only from the newest may have been closed.
func TestOlderTableProvesSessionExpiry(t *testing.T) {
	with, without := map[int64]Session{11: {ID: 11, Timeout: 4 * time.Second, LastContact: now.Add(18 * time.Second)}, 12: {ID: 12}}, map[int64]Session{12: {ID: 12}}
	for name, tt := range map[string]struct {
		first map[int64]Session
		want  string
	}{
		"the older one lacks it": {without, "expired 11, handover 11>12"},
		"the newest one alone":   {with, "released 11, handover 11>12"},
	} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
		a.send(20, Update{Sessions: tt.first, AllSessions: true})
		a.send(30, Update{Sessions: without, AllSessions: true})
		a.reports(t)
		a.send(30, Update{Put: []*Lock{at(queueOf(t, "12"), 30)}})
		expect(t, name, a.reports(t), tt.want)
	}
}
