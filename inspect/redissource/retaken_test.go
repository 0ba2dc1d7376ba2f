package redissource

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// A key that is another's by the next reading was given up, unless its master may have deleted it before.
func TestAKeyThatIsRetakenMayHaveBeenEvicted(t *testing.T) {
	for name, tt := range map[string]struct {
		value inspect.Untrusted
		count evicted
		want  bool
	}{
		"renewed":                     {value: "x", count: evicted{asked: true, known: true, count: 5}},
		"handed over":                 {value: "y", count: evicted{asked: true, known: true, count: 4}},
		"evicted, and retaken":        {value: "y", count: evicted{asked: true, known: true, count: 5}, want: true},
		"retaken, and it is not told": {value: "y", count: evicted{asked: true}, want: true},
	} {
		w := newWatchedRun(t)
		p := w.masters[0]
		p.evictions.take(4, true, noon.Add(-time.Second))
		w.clock = noon.Add(time.Second)
		tt.count.at = w.clock
		for i := range w.masters {
			w.masters[i].busy = true
			rep := report{master: i, keys: []string{"lock:a"}, votes: []inspect.Vote{held(i, tt.value, 2*time.Hour, noon)}, asked: w.clock, answered: w.clock}
			if i == 0 {
				rep.evictable = w.evictable(p, rep.keys, w.clock)
				rep.evicted = tt.count
			}
			w.report(rep)
		}
		w.flush(w.attend())
		if l := w.emitted[len(w.emitted)-1].Put[0]; l.Masters[0].Evicted != tt.want || l.Masters[1].Evicted {
			t.Errorf("%s: %+v", name, l.Masters)
		}
		w.clock = w.clock.Add(time.Second)
		w.answer(0, w.clock, tt.value)
		w.flush(w.attend())
		if w.table.entries["lock:a"].votes[0].Evicted {
			t.Errorf("%s: it is said again of who has the key now", name)
		}
	}
}

// The count is asked for where a key is gone or another's, and a master that does not answer loses no connection by that.
func TestTheCountOfEvictionsIsAskedForWhereAKeyIsAnothers(t *testing.T) {
	server := servertest.StartRedis(t)
	m := newMaster(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}}, 30*time.Second, time.Now)
	defer m.close()
	was := map[string]inspect.Vote{"lock:a": held(0, "x", time.Hour, noon)}
	for name, tt := range map[string]struct {
		is   inspect.Vote
		want bool
	}{
		"the same":  {held(0, "x", time.Hour, noon), false},
		"gone":      {absent(0), true},
		"another's": {held(0, "y", time.Hour, noon), true},
		"down":      {inspect.Vote{}, false},
	} {
		c := m.countEvicted(t.Context(), 0, &report{keys: []string{"lock:a"}, votes: []inspect.Vote{tt.is}, evictable: was})
		if c.asked != tt.want || c.known != tt.want {
			t.Errorf("%s: %+v", name, c)
		}
	}
	client, ended := m.client, time.Time{}
	ctx, cancel := context.WithDeadline(t.Context(), ended)
	defer cancel()
	m.countEvicted(ctx, 0, &report{keys: []string{"lock:a"}, votes: []inspect.Vote{absent(0)}, evictable: was})
	if m.client != client {
		t.Error("its client is thrown away")
	}
}

// A master that no longer tells its limit has the one that it told last; one that never told may evict, and one whose INFO has none does not.
func TestALimitThatIsNotToldIsTheOneBefore(t *testing.T) {
	full := info("maxmemory:1", "maxmemory_policy:allkeys-lru")
	for name, tt := range map[string]struct {
		reported []status
		want     bool
	}{
		"never":                 {reported: []status{{}}, want: true},
		"none":                  {reported: []status{info("maxmemory:0")}},
		"none, and then not":    {reported: []status{info("maxmemory:0"), {}}},
		"none is in it":         {reported: []status{info("redis_mode:standalone")}},
		"in it no more":         {reported: []status{full, info("redis_mode:standalone")}},
		"limited":               {reported: []status{full}, want: true},
		"limited, and then not": {reported: []status{full, {}}, want: true},
		"limited no more":       {reported: []status{full, info("maxmemory:0")}},
	} {
		p := newMasterState(nil, 0)
		for _, st := range tt.reported {
			p.setStatus(st)
		}
		if got := p.mayEvict(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A count is of some time before its answer, and a key is known to have stood when its reading was asked for.
func TestAnEvictionBesideAReadingMayBeOfItsKey(t *testing.T) {
	var v evictions
	v.take(4, true, noon)
	v.take(5, true, noon.Add(10*time.Second))
	v.take(0, false, noon.Add(11*time.Second))
	v.take(5, true, noon.Add(12*time.Second))
	for at, want := range map[time.Duration]bool{9 * time.Second: true, 10 * time.Second: true, 11 * time.Second: false} {
		if got := v.mayHave(noon.Add(at)); got != want {
			t.Errorf("after %v: %v", at, got)
		}
	}
	w := newWatchedRun(t)
	w.clock = noon.Add(2 * time.Second)
	w.answer(0, noon.Add(time.Second), "x")
	if got := w.table.entries["lock:a"].stoodUntil(0); !got.Equal(noon.Add(time.Second)) {
		t.Errorf("it stood until %v", got)
	}
}

// Who takes a key right after a flush was not handed it; of a flush after which it still stood that is not said.
func TestAKeyThatIsRetakenAfterAFlushWasLost(t *testing.T) {
	for name, tt := range map[string]struct {
		stood bool
		want  bool
	}{"flushed": {want: true}, "another database": {stood: true}} {
		w := newWatchedRun(t)
		w.table.flush(0, map[string]bool{"lock:a": true}, noon)
		if tt.stood {
			w.clock = noon.Add(time.Second)
			w.answer(0, w.clock, "x")
		}
		w.clock = noon.Add(2 * time.Second)
		w.table.reportedByName(0, "lock:a")
		w.answer(0, w.clock, "y")
		w.answer(1, w.clock, "y")
		w.flush(w.attend())
		if l := w.emitted[len(w.emitted)-1].Put[0]; l.Masters[0].Flushed != tt.want {
			t.Errorf("%s: %+v", name, l.Masters[0])
		}
	}
}
