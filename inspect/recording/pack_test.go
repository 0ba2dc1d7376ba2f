package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockscope/inspect"
)

// packedInto packs what is written into a buffer, and notes how long that is after each line.
type packedInto struct {
	to   bytes.Buffer
	ends []int
}

func (p *packedInto) pack(t *testing.T, write func(line func([]byte))) {
	t.Helper()
	w, err := Pack(&p.to)
	if err != nil {
		t.Fatal(err)
	}
	write(func(line []byte) {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
		p.ends = append(p.ends, p.to.Len())
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A packed recording has each line as soon as it was written: one that a crash ends there is played to that line, and ends there.
func TestAPackedRecordingIsReadToItsLastLine(t *testing.T) {
	text := record(t, runs()...)
	all := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	all[len(all)-1] = append(all[len(all)-1], '\n')
	var p packedInto
	p.pack(t, func(line func([]byte)) {
		for _, l := range all {
			line(l)
		}
	})
	look := func(file []byte) (played int, r *Replay, span time.Time) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.zst")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(time.Now, path, Speed(0), Kept())
		if err == nil {
			err = r.All(func(inspect.Update) { played++ })
		}
		if err != nil {
			t.Fatal(err)
		}
		if span, err = finderOf(t, path).End(t.Context()); err != nil {
			t.Error(err)
		}
		return played, r, span
	}
	plainly := func(lines int) (int, time.Time) {
		n, _, span := look(bytes.Join(all[:lines], nil))
		return n, span
	}
	for i, end := range p.ends {
		want, until := plainly(i + 1)
		if n, r, span := look(p.to.Bytes()[:end]); n != want || !r.Cut() || !span.Equal(until) {
			t.Errorf("cut behind line %d: %d updates until %v, cut %v, want %d until %v", i+1, n, span, r.Cut(), want, until)
		}
	}
	want, until := plainly(len(all))
	if n, r, span := look(p.to.Bytes()); n != want || r.Cut() || !span.Equal(until) {
		t.Errorf("whole: %d updates until %v, cut %v, want %d until %v", n, span, r.Cut(), want, until)
	}
	path := filepath.Join(t.TempDir(), "x.zst")
	if err := os.WriteFile(path, []byte(zstdMagic+"\xff\xff\xff\xff\xff\xff\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(time.Now, path); !errors.Is(err, ErrFormat) {
		t.Errorf("of nonsense: %v", err)
	}
}

// queue is a lock with contenders of names and sessions as Curator's.
type queue struct {
	id         inspect.ID
	contenders []inspect.Contender
	joined     int
}

func (q *queue) join(r *rand.Rand, at time.Time) {
	name := fmt.Sprintf("_c_%016x%016x-lock-%010d", r.Uint64(), r.Uint64(), q.joined)
	q.joined++
	q.contenders = append(q.contenders, inspect.Contender{
		Name: inspect.Untrusted(name), State: inspect.Waiting, Since: at, Owner: inspect.Owner{Session: 1<<56 | int64(r.IntN(4000))},
	})
}

func (q *queue) lock(at time.Time) *inspect.Lock {
	l := &inspect.Lock{ID: q.id, Kind: inspect.KindMutex, State: inspect.StateContended, ReadAt: at}
	for i, c := range q.contenders {
		if i == 0 {
			c.State, l.Holders = inspect.Holding, append(l.Holders, c)
			l.Holders[0].State = inspect.Holding
			continue
		}
		l.Waiters = append(l.Waiters, c)
	}
	return l
}

// An hour of 1,000 locks of 4 contenders with 100 changes a second takes no more than 50 MiB: a minute of it is packed. Contenders'
// names are chosen at random, as libraries do, which is what packs worst.
func TestAnHourIsNoMoreThanFiftyMebibytes(t *testing.T) {
	const locks, changes, part = 1000, 6_000, 60
	r := rand.New(rand.NewPCG(3, 4))
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := inspect.Update{Backend: &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}}
	all := make([]queue, locks)
	for i := range all {
		all[i].id = inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/job-%04d", i)}
		for range 4 {
			all[i].join(r, began)
		}
		first.Put = append(first.Put, all[i].lock(began))
	}
	var p packedInto
	p.pack(t, func(line func([]byte)) {
		put := func(at time.Time, u inspect.Update) {
			encoded, err := lines("", at, u)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range encoded {
				line(append(l, '\n'))
			}
		}
		put(began, first)
		for n := range changes {
			at := began.Add(time.Duration(n)*10*time.Millisecond + time.Duration(r.IntN(1e7)))
			q := &all[r.IntN(locks)]
			if len(q.contenders) == 4 {
				q.contenders = q.contenders[1:]
			} else {
				q.join(r, at)
			}
			put(at, inspect.Update{Put: []*inspect.Lock{q.lock(at)}})
		}
	})
	begin := p.ends[0]
	hour := begin + part*(p.to.Len()-begin)
	t.Logf("%d bytes for the first look, %.1f MiB for an hour", begin, float64(hour)/(1<<20))
	if hour > 50<<20 {
		t.Errorf("%d bytes", hour)
	}
}
