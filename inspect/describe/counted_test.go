package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// A value that counts shared holders names no client.
func TestACountIsNoName(t *testing.T) {
	now := time.Unix(1763715600, 0)
	for value, want := range map[inspect.Untrusted]string{"2": "2 shared holders", "1": "1 shared holder", "worker-2": "worker-2 holds it"} {
		l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:files/a"}, []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: value, NoExpiry: true}}, now)
		view := View{Snapshot: inspect.NewSnapshot(now, nil, []*inspect.Lock{l}), Now: now}
		if got := view.Verdict(l); !strings.Contains(got, want) || strings.Contains(want, "shared") == strings.Contains(got, "holds it") {
			t.Errorf("%s: %s", value, got)
		}
		if got := view.Standing(l); !strings.Contains(got, want) {
			t.Errorf("%s: %s", value, got)
		}
	}
	l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:a"}, []inspect.Vote{{Addr: "r1", Up: true, Present: true, Value: "7", NoExpiry: true}}, now)
	view := View{Snapshot: inspect.NewSnapshot(now, nil, []*inspect.Lock{l}), Now: now}
	for _, got := range []string{view.Verdict(l), view.Standing(l)} {
		if !strings.Contains(got, "an unknown client holds it") {
			t.Errorf("7: %s", got)
		}
	}
}
