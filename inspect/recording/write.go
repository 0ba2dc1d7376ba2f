package recording

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// wholeEvery is the minimum time between two whole snapshots. They are also at least a snapshot's
// length apart, so that they are at most half of a recording.
const wholeEvery = time.Minute

// keptTables limits the watch tables, for parts of a backend, in a whole snapshot.
const keptTables = 32

// writer writes a recording, one line per call, and remembers the whole snapshot.
type writer struct {
	w        io.Writer
	backends map[string]*newest
	names    []string  // of the backends, as they came
	to       time.Time // the latest time of an entry, since some are backdated
	whole    time.Time // of the last whole snapshot, or the beginning
	text     int       // bytes written
	due      int       // the text after which the next whole snapshot may come
}

// newest is a backend's last known state.
type newest struct {
	backend  *inspect.Backend
	sessions inspect.Update
	watches  []*inspect.WatchTable
	locks    map[inspect.ID]*inspect.Lock
}

// newWriter begins a recording.
func newWriter(w io.Writer, at time.Time) (*writer, error) {
	own := &writer{w: w, backends: make(map[string]*newest), to: at, whole: at}
	return own, own.line(fmt.Appendf(nil, `{"recording":%d,"at":%q}`, Version, at.Format(time.RFC3339Nano)))
}

// write writes an update, after a whole snapshot of the previous state if one is due.
func (w *writer) write(at time.Time, u inspect.Update) error {
	if at.After(w.to) {
		w.to = at
	}
	if w.to.Sub(w.whole) >= wholeEvery && w.text >= w.due {
		if err := w.snapshot(); err != nil {
			return err
		}
	}
	w.keep(u)
	return w.lines("", at, u)
}

func (w *writer) lines(whole string, at time.Time, u inspect.Update) error {
	all, err := lines(whole, at, u)
	for _, line := range all {
		if err == nil {
			err = w.line(line)
		}
	}
	return err
}

func (w *writer) line(text []byte) error {
	n, err := w.w.Write(append(text, '\n'))
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	w.text += n
	return nil
}

// keep remembers the contents of an update.
func (w *writer) keep(u inspect.Update) {
	for _, l := range u.Put {
		w.of(l.ID.Backend).locks[l.ID] = l
	}
	for _, id := range u.Gone {
		delete(w.of(id.Backend).locks, id)
	}
	if u.Backend != nil {
		b := w.of(u.Backend.Name)
		b.backend = u.Backend
		if u.Sessions != nil {
			b.sessions = inspect.Update{Sessions: u.Sessions, AllSessions: u.AllSessions, SessionsAt: u.SessionsAt}
		}
	}
	if t := u.Watches; t != nil {
		b := w.of(t.Backend)
		if t.Covers == nil {
			b.watches = nil
		}
		b.watches = append(b.watches, t)
		b.watches = b.watches[max(0, len(b.watches)-keptTables):]
	}
}

func (w *writer) of(backend string) *newest {
	b := w.backends[backend]
	if b == nil {
		b = &newest{locks: make(map[inspect.ID]*inspect.Lock)}
		w.backends[backend], w.names = b, append(w.names, backend)
	}
	return b
}

// snapshot writes the whole current state as updates of a first look.
func (w *writer) snapshot() error {
	before, whole := w.text, wholeFirst
	for _, name := range w.names {
		b := w.backends[name]
		u := b.sessions
		u.Backend = b.backend
		u.Put = slices.SortedFunc(maps.Values(b.locks), func(a, b *inspect.Lock) int { return a.ID.Compare(b.ID) })
		all := []inspect.Update{u}
		for _, t := range b.watches {
			all = append(all, inspect.Update{Watches: t})
		}
		for _, u := range all {
			if err := w.lines(whole, w.to, u); err != nil {
				return err
			}
			whole = wholeRest
		}
	}
	w.whole, w.due = w.to, w.text+w.text-before
	return nil
}
