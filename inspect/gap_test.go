package inspect

import (
	"strings"
	"testing"
	"time"
)

func TestWhatEndedWhileNobodyLookedIsNotToldAsReleased(t *testing.T) {
	for _, skipped := range []bool{true, false} {
		a := applying(t)
		a.send(0, Update{Put: []*Lock{queueOf(t, "11 12")}, Backend: zkUp})
		if skipped {
			a.send(33, Update{Gap: &Gap{Backend: "zk", From: now.Add(time.Second), Until: now.Add(33 * time.Second)}})
		}
		a.send(34, Update{Put: []*Lock{at(queueOf(t, "12"), 34)}})
		if told := a.told(t); strings.Contains(told, "released") == skipped {
			t.Errorf("skipped %v: %s", skipped, told)
		}
		a.send(50, Update{Put: []*Lock{at(queueOf(t, "13"), 50)}})
		if told := a.told(t); !strings.Contains(told, "released 12") {
			t.Errorf("long after: %s", told)
		}
	}
}

func TestALockIsAsOldAsItsBackendWasHeardOf(t *testing.T) {
	read, heard := now.Add(-time.Hour), now.Add(-time.Minute)
	for name, c := range map[string]struct {
		lock Lock
		b    *Backend
		want time.Time
	}{
		"watched":      {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, now},
		"lost sight":   {Lock{ReadAt: read}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, heard},
		"polled":       {Lock{ReadAt: read, Polled: true}, &Backend{Mode: ModeWatch, State: Connected, HeardAt: heard}, read},
		"a poller":     {Lock{ReadAt: read}, &Backend{Mode: ModePoll, State: Connected, HeardAt: heard}, read},
		"never heard":  {Lock{ReadAt: read}, &Backend{Mode: ModePush, State: Down}, read},
		"read later":   {Lock{ReadAt: now}, &Backend{Mode: ModeWatch, State: Down, HeardAt: heard}, now},
		"told nothing": {Lock{ReadAt: read}, nil, read},
	} {
		if got := c.lock.AsOf(c.b, now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
