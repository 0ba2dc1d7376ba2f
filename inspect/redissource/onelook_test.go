package redissource

import (
	"testing"

	"lockscope/inspect"
)

// One look judges a lock when all masters that answer have told of it; a screen, and where one is late, when the first has.
func TestOneLookJudgesALockOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		once, late bool
		want       int
	}{
		"one look":              {once: true, want: 0},
		"one look, one is late": {once: true, late: true, want: 1},
		"a screen":              {want: 1},
	} {
		w := newWatchedRun(t)
		w.cfg.Once = tt.once
		puts := func() (n int) {
			for _, u := range w.emitted {
				n += len(u.Put)
			}
			return n
		}
		for _, p := range w.masters {
			p.server.State = inspect.ServerUp
			p.want("lock:a", w.perKey, noon)
		}
		w.masters[0].take(1, w.perKey, noon)
		w.answer(0, noon, "y")
		w.masters[1].late = tt.late
		w.flush(noon)
		if puts() != tt.want {
			t.Errorf("%s: emitted %d times after one of two answers, want %d", name, puts(), tt.want)
		}
		w.masters[1].take(1, w.perKey, noon)
		w.answer(1, noon, "y")
		if w.flush(noon); puts() != tt.want+1 {
			t.Errorf("%s: emitted %d times in all", name, puts())
		}
	}
}
