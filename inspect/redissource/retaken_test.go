package redissource

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
)

// A key that is another's by the next reading was given up, unless its master may have deleted it before.
func TestAKeyThatIsRetakenMayHaveBeenEvicted(t *testing.T) {
	for name, tt := range map[string]struct {
		value inspect.Untrusted
		count evicted
		want  bool
	}{
		"renewed":                     {value: "x", count: evicted{wanted: true, known: true, count: 5}},
		"handed over":                 {value: "y", count: evicted{wanted: true, known: true, count: 4}},
		"evicted, and retaken":        {value: "y", count: evicted{wanted: true, known: true, count: 5}, want: true},
		"retaken, and it is not told": {value: "y", count: evicted{wanted: true}, want: true},
	} {
		w := newWatchedRun(t)
		p := w.masters[0]
		p.evictions.take(4, true, noon.Add(-time.Second), noon.Add(-time.Second))
		w.clock = noon.Add(time.Second)
		tt.count.asked, tt.count.at = w.clock, w.clock
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
		c := m.countEvicted(t.Context(), true, &report{keys: []string{"lock:a"}, votes: []inspect.Vote{tt.is}, evictable: was})
		if c.wanted != tt.want || c.known != tt.want {
			t.Errorf("%s: %+v", name, c)
		}
	}
	client, ended := m.client, time.Time{}
	ctx, cancel := context.WithDeadline(t.Context(), ended)
	defer cancel()
	m.countEvicted(ctx, true, &report{keys: []string{"lock:a"}, votes: []inspect.Vote{absent(0)}, evictable: was})
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
	take := func(count int64, known bool, asked, answered time.Duration) {
		v.take(count, known, noon.Add(asked*time.Second), noon.Add(answered*time.Second))
	}
	take(4, true, 0, 0)
	take(5, true, 10, 10)
	take(0, false, 11, 11)
	take(5, true, 12, 12)
	take(4, true, 9, 13) // overtaken
	for at, want := range map[time.Duration]bool{9 * time.Second: true, 10 * time.Second: true, 11 * time.Second: false} {
		if got := v.mayHave(noon.Add(at)); got != want || v.count != 5 {
			t.Errorf("after %v: %v, %+v", at, got, v)
		}
	}
	w := newWatchedRun(t)
	w.clock = noon.Add(2 * time.Second)
	w.answer(0, noon.Add(time.Second), "x")
	if got := w.table.entries["lock:a"].stoodUntil(0); !got.Equal(noon.Add(time.Second)) {
		t.Errorf("it stood until %v", got)
	}
}

// Who has a key by the first reading after a flush may have been handed it, or not: of which database all is gone is not reported. Who has
// it by a later one was, and so was who had it by one before.
func TestAKeyThatIsRetakenAfterAFlushMayHaveBeenFlushed(t *testing.T) {
	for name, tt := range map[string]struct {
		before []inspect.Untrusted // by the readings after the flush, but for the last
		at     time.Duration       // of the flush
		want   bool
	}{
		"flushed, or not":                            {want: true},
		"another database":                           {before: []inspect.Untrusted{"x"}},
		"another database, and handed over":          {before: []inspect.Untrusted{"y"}},
		"the flush came while a reading was waiting": {at: time.Minute},
	} {
		w := newWatchedRun(t)
		w.table.flush(0, noon.Add(tt.at-500*time.Millisecond), noon.Add(tt.at)) // a ping was answered between
		for _, value := range append(tt.before, "z") {
			w.clock = w.clock.Add(time.Second)
			w.table.pushedAfter(0, "lock:a", noon, w.clock)
			w.answer(0, w.clock, value)
			w.answer(1, w.clock, value)
			w.flush(w.attend())
		}
		if v := w.emitted[len(w.emitted)-1].Put[0].Masters[0]; v.Flushed || v.Evicted != tt.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Of several holders one may be back after the key was evicted: the others did not give it up.
func TestAKeyIsReplacedWhereAHolderIsGone(t *testing.T) {
	claims := func(words string) *inspect.Vote {
		v := &inspect.Vote{Up: true, Present: true, Held: &recipe.Record{}}
		for _, name := range strings.Fields(words) {
			who, waits := strings.CutSuffix(name, "?")
			v.Held.Claims = append(v.Held.Claims, recipe.Claim{Name: who, Waiting: waits})
		}
		return v
	}
	for _, tt := range []struct {
		was, is string
		want    bool
	}{
		{"x y?", "y", true},
		{"x y?", "x", false},
		{"x y?", "y?", true},
		{"x y", "y z", true},
		{"x y", "y", true},
		{"y", "y z", false},
		{"x y", "y x z?", false},
		{"", "x", false},
		{"", "", false},
		{"y?", "y", false},
	} {
		if got := replaced(claims(tt.was), claims(tt.is)); got != tt.want {
			t.Errorf("%q, %q: %v", tt.was, tt.is, got)
		}
	}
	x := held(0, "x", time.Hour, noon)
	if !replaced(&x, claims("x")) || !replaced(claims("x"), &x) || replaced(claims(""), &x) || replaced(&x, &x) {
		t.Error("a plain key, and another")
	}
}

// No reading waits for the next count, which is not asked for again soon once it was refused or not answered.
func TestTheCountOfEvictionsIsNotAskedForAtOnceAgain(t *testing.T) {
	m := newMaster("a", redis.UniversalOptions{Addrs: []string{"a"}}, time.Second, time.Now)
	defer m.close()
	was := map[string]inspect.Vote{"lock:a": held(0, "x", time.Hour, noon)}
	if c := m.countEvicted(t.Context(), false, &report{keys: []string{"lock:a"}, votes: []inspect.Vote{absent(0)}, evictable: was}); !c.wanted || c.known || !c.asked.IsZero() {
		t.Errorf("%+v", c)
	}
	w := newWatchedRun(t)
	p := w.masters[0]
	answer := info("evicted_keys:1")
	answer.asked, answer.answered = noon.Add(time.Second), noon.Add(time.Second)
	for name, tt := range map[string]struct {
		count evicted
		given status
		want  time.Time
	}{
		"counted":       {evicted{wanted: true, known: true, asked: noon, at: noon}, status{}, time.Time{}},
		"not answered":  {evicted{wanted: true, asked: noon, at: noon}, status{}, noon.Add(countEvery)},
		"refused":       {evicted{wanted: true, refused: true, asked: noon, at: noon}, status{}, noon.Add(rearmEvery)},
		"not asked for": {evicted{wanted: true}, status{}, time.Time{}},
		"no more":       {evicted{wanted: true, refused: true, asked: noon, at: noon}, answer, noon.Add(time.Second)},
	} {
		p.evictions = evictions{}
		w.markEvicted(p, &report{evicted: tt.count, answered: noon})
		p.setStatus(tt.given)
		if got := p.evictions.askAfter; !got.Equal(tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
