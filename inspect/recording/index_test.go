package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"lockscope/inspect"
)

// written is a recording of hand-overs of 40 locks on two backends, one each 10 ms, in a file; at has the instant of the n-th.
func written(tb testing.TB, changes int, pack bool) (path string, at func(n int) time.Time) {
	tb.Helper()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at = func(n int) time.Time { return began.Add(time.Duration(n) * 10 * time.Millisecond) }
	var text bytes.Buffer
	err := Save(&text, func(yield func(time.Time, inspect.Update) bool) {
		for _, name := range []string{"zk", "redis"} {
			b := &inspect.Backend{Name: name, Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
			sessions := map[int64]inspect.Session{7: {Client: "10.0.0.7:1"}}
			if !yield(began, inspect.Update{Backend: b, Sessions: sessions, AllSessions: true}) {
				return
			}
		}
		for i := range changes {
			if !yield(at(i), changeOf(i, at(i))) {
				return
			}
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "r.jsonl")
	data := text.Bytes()
	if pack {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(data); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
		data = packed.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path, at
}

// changeOf is the n-th change: a lock gets another holder, or is gone for a while; one lock never changes after its beginning.
func changeOf(n int, at time.Time) inspect.Update {
	i := n % 40
	if i == 39 && n > 40 {
		i = 38
	}
	id := inspect.ID{Backend: []string{"zk", "redis"}[i%2], Path: fmt.Sprintf("/locks/job \"%02d\"", i)}
	if n%97 == 96 {
		return inspect.Update{Gone: []inspect.ID{id}}
	}
	c := inspect.Contender{
		Name: inspect.Untrusted(fmt.Sprintf("lock-%010d %s", n, bytes.Repeat([]byte("x"), 200))), State: inspect.Holding,
		Owner: inspect.Owner{Session: 7},
	}
	return inspect.Update{Put: []*inspect.Lock{{ID: id, Kind: inspect.KindMutex, State: inspect.StateHeld, ReadAt: at, Holders: []inspect.Contender{c}}}}
}

func indexed(tb testing.TB, path string) *Index {
	tb.Helper()
	x, err := NewIndex(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := x.Build(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return x
}

// seenOf has an observer look at a source that plays up to a moment, and lists each lock with its holder, and the sessions of those.
func seenOf(tb testing.TB, now func() time.Time, play func(func(inspect.Update)) error) string {
	tb.Helper()
	o := inspect.NewObserver(now, nil)
	if err := o.Play(play); err != nil {
		tb.Fatal(err)
	}
	var all bytes.Buffer
	s := o.Snapshot()
	fmt.Fprintln(&all, s.TakenAt)
	for _, b := range s.Backends {
		fmt.Fprintln(&all, b.Name, b.State, b.FirstPass)
	}
	for l := range s.Locks() {
		fmt.Fprintln(&all, l.ID, l.State, strings.TrimRight(l.Holders[0].Name.String(), "x"), l.Holders[0].HeldSince, l.Holders[0].Owner.Client)
	}
	return all.String()
}

// Any moment that the index finds has every lock, backend and session as playing all that was before it has.
func TestAMomentIsAsPlayedFromTheBeginning(t *testing.T) {
	t.Parallel()
	for _, pack := range []bool{false, true} {
		path, at := written(t, 9000, pack)
		x := indexed(t, path)
		if len(x.marks) < 3 {
			t.Fatalf("packed %v: %d marks", pack, len(x.marks))
		}
		for _, n := range []int{0, 1, 39, 100, 2000, 4321, 6499, 8900, 8999} {
			if m := sameMoment(t, x, at(0), at(n)); n > 4000 && m.mark.offset == 0 {
				t.Errorf("packed %v: the moment after %d changes is played from the beginning", pack, n)
			}
		}
	}
}

// sameMoment compares a moment from an index with the recording played from its beginning.
func sameMoment(t *testing.T, x *Index, began, at time.Time) *Moment {
	t.Helper()
	m, err := x.Moment(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	played, err := Open(time.Now, x.name, Kept(), Speed(0))
	if err != nil {
		t.Fatal(err)
	}
	want := seenOf(t, played.Now, func(emit func(inspect.Update)) error { return played.To(at.Sub(began), emit) })
	got := seenOf(t, m.Now, func(emit func(inspect.Update)) error { return m.Run(t.Context(), emit) })
	is, should := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Errorf("%v, line %d:\n%s\nwant\n%s", at, i, is[min(i, len(is)-1)], should[min(i, len(should)-1)])
			break
		}
	}
	return m
}

// A line that is dated back, as after a stall of who recorded it, leaves the marks in their order and the end where it was.
func TestALineDatedBack(t *testing.T) {
	t.Parallel()
	path, at := written(t, 9000, false)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marked := indexed(t, path).marks[1]
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1]
	back := func(i int, by time.Duration) {
		var head struct {
			At time.Time `json:"at"`
		}
		if err := json.Unmarshal(lines[i], &head); err != nil {
			t.Fatal(err)
		}
		was, is := head.At.Format(time.RFC3339Nano), head.At.Add(-by).Format(time.RFC3339Nano)
		if lines[i] = bytes.Replace(lines[i], []byte(was), []byte(is), 1); !bytes.Contains(lines[i], []byte(is)) {
			t.Fatalf("%s", lines[i][:60])
		}
	}
	read := int64(0)
	for i := range lines {
		if read += int64(len(lines[i])); read == marked.offset {
			back(i, 7*time.Second)
		}
	}
	back(len(lines)-1, 7*time.Second)
	path = filepath.Join(t.TempDir(), "back.jsonl")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	x := indexed(t, path)
	if _, to, _ := x.Span(); !to.Equal(at(8998)) {
		t.Errorf("it ends at %v", to)
	}
	if !slices.IsSortedFunc(x.marks, func(a, b mark) int { return a.at.Compare(b.at) }) {
		t.Error("the marks are in no order")
	}
	for d := -10 * time.Second; d < 10*time.Second; d += time.Second / 2 {
		sameMoment(t, x, at(0), marked.at.Add(d))
	}
}

// The index reads the file that it was made of, also when another has its name; that it is cut off is no end.
func TestTheIndexIsOfOneFile(t *testing.T) {
	t.Parallel()
	for _, pack := range []bool{false, true} {
		path, at := written(t, 9000, pack)
		x, err := NewIndex(path)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("another\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := x.Build(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := x.Moment(t.Context(), at(8900))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path+".1", m.mark.offset+1000); err != nil {
			t.Fatal(err)
		}
		if err := m.Run(t.Context(), func(inspect.Update) {}); errors.Is(err, io.ErrUnexpectedEOF) == pack { // packed, the index has all of it
			t.Errorf("packed %v, cut off: %v", pack, err)
		}
	}
}

// The marks take no more than they may, and are then further apart, all over the recording.
func TestTheMarksAreBounded(t *testing.T) {
	t.Parallel()
	path, at := written(t, 18000, false)
	all := indexed(t, path)
	x, err := NewIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.most = 5 * all.marks[1].size()
	if err := x.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, m := range x.marks {
		bytes += m.size()
	}
	if n := len(x.marks); bytes > x.most || bytes != x.bytes || n < 2 || len(all.marks) < 2*n {
		t.Errorf("%d bytes, counted as %d, of %d; %d marks of %d", bytes, x.bytes, x.most, n, len(all.marks))
	}
	for i, m := range x.marks[1:] {
		if apart := m.offset - x.marks[i].offset; apart > 2*x.marks[0].offset || apart < x.marks[0].offset/2 {
			t.Errorf("a mark is %d bytes after that at %d, and the first one at %d", apart, x.marks[i].offset, x.marks[0].offset)
		}
	}
	for _, n := range []int{100, 9000, 17500} {
		sameMoment(t, x, at(0), at(n))
	}
}

// While the index is made a moment waits for it; after the end it is the end. What is cut off within a line ends there, and what is
// damaged has no moments from there on, and no end.
func TestTheIndexEndsWhereTheRecordingDoes(t *testing.T) {
	t.Parallel()
	path, at := written(t, 3000, false)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := NewIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	waiting := make(chan error, 1)
	go func() {
		m, err := made.Moment(t.Context(), at(2999).Add(time.Hour))
		if err == nil && !m.to.Equal(at(2999)) {
			err = fmt.Errorf("the end is %v", m.to)
		}
		waiting <- err
	}()
	if err := made.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for name, tt := range map[string]struct {
		text  []byte
		last  int // change that is found
		whole bool
	}{
		"cut":     {bytes.Join(lines[:1500], nil)[:len(bytes.Join(lines[:1500], nil))-20], 1495, true},
		"damaged": {append(append(bytes.Join(lines[:1500], nil), "{\n"...), bytes.Join(lines[1500:], nil)...), 1495, false},
	} {
		own := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(own, tt.text, 0o600); err != nil {
			t.Fatal(err)
		}
		x := indexed(t, own)
		if _, _, whole := x.Span(); whole != tt.whole {
			t.Errorf("%s: all of it: %v", name, whole)
		}
		if _, err := x.Moment(t.Context(), at(tt.last)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := x.Moment(t.Context(), at(2000)); (err == nil) != tt.whole {
			t.Errorf("%s: a moment after it: %v", name, err)
		}
	}
}

// BenchmarkMoment is the time in which an observer has any moment of an hour of 1,000 locks of 4 contenders with 100 changes a second, whose
// index is made; that takes so many seconds.
func BenchmarkMoment(b *testing.B) {
	for _, pack := range []bool{false, true} {
		b.Run(fmt.Sprintf("packed=%v", pack), func(b *testing.B) {
			path, at := busyHour(b, pack)
			begun := time.Now()
			x := indexed(b, path)
			made := time.Since(begun)
			r := rand.New(rand.NewPCG(1, 2))
			var times []time.Duration
			for b.Loop() {
				begun := time.Now()
				m, err := x.Moment(b.Context(), at(r.IntN(360_000)))
				if err != nil {
					b.Fatal(err)
				}
				o := inspect.NewObserver(m.Now, m)
				if err := o.Play(func(emit func(inspect.Update)) error { return m.Run(b.Context(), emit) }); err != nil {
					b.Fatal(err)
				}
				if n := o.Snapshot().Len(); n != 1000 {
					b.Fatal(n)
				}
				times = append(times, time.Since(begun))
			}
			slices.Sort(times)
			b.ReportMetric(made.Seconds(), "index-s")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// busyHour is a recording of an hour with 1,000 locks.
func busyHour(b *testing.B, pack bool) (path string, at func(n int) time.Time) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "hour.jsonl")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := io.WriteCloser(file)
	if pack {
		w = gzip.NewWriter(file)
	}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at = func(n int) time.Time { return began.Add(time.Second + time.Duration(n)*10*time.Millisecond) }
	lock := func(i, n int, at time.Time) *inspect.Lock {
		l := &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: fmt.Sprintf("/locks/job-%04d", i)}, Kind: inspect.KindMutex, State: inspect.StateContended, ReadAt: at}
		for k := range 4 {
			c := inspect.Contender{
				Name:  inspect.Untrusted(fmt.Sprintf("_c_7f3e0c51-0000-4000-8000-%012x-lock-%010d", i*7919, n+k)),
				State: inspect.Waiting, Since: at.Add(-time.Second), Owner: inspect.Owner{Session: int64(i*10 + k)},
			}
			if k == 0 {
				c.State, l.Holders = inspect.Holding, []inspect.Contender{c}
				l.Holders[0].State = inspect.Holding
				continue
			}
			l.Waiters = append(l.Waiters, c)
		}
		return l
	}
	err = Save(w, func(yield func(time.Time, inspect.Update) bool) {
		u := inspect.Update{Backend: &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}}
		for i := range 1000 {
			u.Put = append(u.Put, lock(i, 0, began))
		}
		if !yield(began, u) {
			return
		}
		r := rand.New(rand.NewPCG(3, 4))
		for n := range 360_000 {
			i := r.IntN(800) // the others stay
			if !yield(at(n), inspect.Update{Put: []*inspect.Lock{lock(i, n/100, at(n))}}) {
				return
			}
		}
	})
	if err == nil && pack {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return path, at
}

// endsAt is a context that is at its end when it has been asked so often.
type endsAt struct {
	context.Context
	left *atomic.Int32
}

func (e endsAt) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A moment that is given up while its first look is composed ends there.
func TestAMomentIsGivenUp(t *testing.T) {
	t.Parallel()
	path, at := written(t, 9000, false)
	m, err := indexed(t, path).Moment(t.Context(), at(8900))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.mark.backends) == 0 {
		t.Fatal("it is played from the beginning")
	}
	for _, asked := range []int32{0, 1, 10, 20} {
		ctx := endsAt{t.Context(), &atomic.Int32{}}
		ctx.left.Store(asked)
		err := m.Run(ctx, func(inspect.Update) { t.Errorf("asked %d times: goes on", asked) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("asked %d times: %v", asked, err)
		}
	}
}
