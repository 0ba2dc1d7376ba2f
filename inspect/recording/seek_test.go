package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

const asText, asZstd, asGzip = "text", "zstd", "gzip"

// keep writes a recording to a file.
func keep(tb testing.TB, form string, updates func(func(time.Time, inspect.Update) bool)) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "recording")
	file := must.Have(os.Create(path))(tb)
	defer file.Close()
	to := io.WriteCloser(file)
	switch form {
	case asZstd:
		to = must.Have(Pack(file))(tb)
	case asGzip:
		to = gzip.NewWriter(file)
	}
	must.Succeed(tb, errors.Join(Save(to, updates), to.Close()))
	return path
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// after is the time of the n-th change.
func after(n int) time.Time { return began.Add(time.Duration(n) * 100 * time.Millisecond) }

// handoffs are changes of 40 locks on two backends, ten a second.
func handoffs(changes int) func(func(time.Time, inspect.Update) bool) {
	return func(yield func(time.Time, inspect.Update) bool) {
		for _, name := range []string{"zk", "redis"} {
			b := &inspect.Backend{Name: name, Kind: inspect.ZooKeeper, State: inspect.Connected, FirstPass: true}
			sessions := map[int64]inspect.Session{7: {Client: "10.0.0.7:1"}}
			if !yield(began, inspect.Update{Backend: b, Sessions: sessions, AllSessions: true}) {
				return
			}
		}
		for i := 0; i < changes && yield(after(i), changeOf(i, after(i))); i++ {
		}
	}
}

// changeOf is the n-th change: a lock gets another holder or is removed. One lock never changes after
// its first appearance.
func changeOf(n int, at time.Time) inspect.Update {
	i := n % 40
	if i == 39 && n > 40 {
		i = 38
	}
	id := inspect.ID{Backend: []string{"zk", "redis"}[i%2], Path: fmt.Sprintf("/locks/job \"%02d\"\xff", i)}
	if n%97 == 96 {
		return inspect.Update{Gone: []inspect.ID{id}}
	}
	c := inspect.Contender{
		Name: inspect.Untrusted(fmt.Sprintf("lock-%010d", n)), State: inspect.Holding,
		Owner: inspect.Owner{Session: 7},
	}
	return inspect.Update{Put: []*inspect.Lock{{
		ID: id, Kind: inspect.KindMutex, State: inspect.StateHeld, ReadAt: at, Holders: []inspect.Contender{c},
	}}}
}

// finderOf opens a recording until the test ends.
func finderOf(tb testing.TB, path string) *Finder {
	tb.Helper()
	f := must.Have(NewFinder(path))(tb)
	tb.Cleanup(func() {
		must.Succeed(tb, f.Close())
		must.Be(tb, f.Close(), os.ErrClosed, "a second close")
	})
	return f
}

// seenOf plays updates and lists each lock with its holder and the holder's session.
func seenOf(tb testing.TB, now func() time.Time, play func(func(inspect.Update)) error) string {
	tb.Helper()
	o := inspect.NewObserver(now, nil)
	must.Succeed(tb, o.Play(play))
	var all bytes.Buffer
	s := o.Snapshot()
	fmt.Fprintln(&all, s.TakenAt)
	for _, b := range s.Backends {
		fmt.Fprintln(&all, b.Name, b.State, b.FirstPass)
	}
	for l := range s.Locks() {
		c := &l.Holders[0]
		fmt.Fprintln(&all, l.ID, l.State, c.Name, c.HeldSince, c.Owner.Client)
	}
	return all.String()
}

// sameMoment compares a moment from the Finder to the recording played from its beginning.
func sameMoment(t *testing.T, f *Finder, at time.Time) *Moment {
	t.Helper()
	m := must.Have(f.Moment(t.Context(), at))(t)
	played := must.Have(Open(time.Now, f.name, Kept(), Speed(0)))(t)
	want := seenOf(t, played.Now, func(emit func(inspect.Update)) error { return played.To(at.Sub(began), emit) })
	got := seenOf(t, m.Now, func(emit func(inspect.Update)) error { return m.Run(t.Context(), emit) })
	must.Equal(t, got, want, at)
	return m
}

func TestMomentMatchesFullReplay(t *testing.T) {
	t.Parallel()
	for _, form := range []string{asText, asZstd, asGzip} {
		f := finderOf(t, keep(t, form, handoffs(3000))) // five minutes
		for _, n := range []int{0, 1, 39, 100, 649, 651, 700, 1900, 2999, 3005} {
			m := sameMoment(t, f, after(n))
			must.True(t, n <= 1000 || len(m.lines) <= 2000, form, "the moment after", n, "changes is built from the beginning")
			whole := bytes.HasPrefix(m.lines[0], []byte(wholeBegin)) // the first is a minute after the beginning
			must.Equal(t, whole, n > 650, form, "five seconds before", n, "changes there was a snapshot")
			p := must.Have(f.partBefore(after(n)))(t)
			recent := !p.at.After(after(n)) && after(n).Sub(p.at) <= wholeEvery+time.Second
			must.True(t, recent || form == asGzip, form, "the part before", n, "changes begins at", p.at)
		}
		end, err := f.End(t.Context())
		must.True(t, err == nil && end.Equal(after(2999)), form, "the end is", end, err)
	}
	path := keep(t, asText, handoffs(1500))
	text := must.Have(os.ReadFile(path))(t)
	whole := bytes.LastIndex(text, []byte(wholeBegin))
	line := bytes.IndexByte(text[whole:], '\n')
	for _, cut := range []int{whole + line/2, whole + line + 1} { // in its first line, and after it
		must.Succeed(t, os.WriteFile(path, text[:cut], 0o600))
		sameMoment(t, finderOf(t, path), after(1500))
	}
	gap := strings.Repeat(" ", 10_000) // longer than a reader's buffer
	must.Succeed(t, os.WriteFile(path, slices.Insert(text, whole-1, []byte(gap)...), 0o600))
	f := finderOf(t, path)
	p, found := f.partIn(int64(whole), f.size)
	must.True(t, found && p.offset == int64(whole+len(gap)), "the part after the gap", p.offset)
}

// A Finder keeps the file that it opened, even if the path is replaced. A frame that zstd skips only
// looks as if it held a part. A file that is cut meanwhile ends early.
func TestFindersReadTheFileTheyOpened(t *testing.T) {
	t.Parallel()
	path := keep(t, asZstd, handoffs(1500))
	skipped := "\x50\x2a\x4d\x18\x04\x00\x00\x00" + zstdMagic
	must.Succeed(t, os.WriteFile(path, append(must.Have(os.ReadFile(path))(t), skipped...), 0o600))
	f := finderOf(t, path)
	must.Succeed(t, os.Rename(path, path+".1"))
	must.Succeed(t, os.WriteFile(path, []byte("another\n"), 0o600))
	end, err := f.End(t.Context())
	must.True(t, err == nil && end.Equal(after(1499)), "the end is", end, err)
	must.Succeed(t, os.Truncate(path+".1", f.size/2))
	end, err = f.End(t.Context())
	must.True(t, err == nil && end.Before(after(1499)), "the end is", end, err)
}
