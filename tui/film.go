package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// Film returns the snapshots of a recording in batches while it is read, the oldest first; io.EOF
// after the last.
type Film interface {
	Next(ctx context.Context) ([]*inspect.Snapshot, error)
	// Moment uses an index to draw an instant that Next has not reached yet, or the end of the
	// recording if that is earlier. It lacks facts that come from much earlier updates. It may fail
	// even if Next will reach that instant.
	Moment(ctx context.Context, at time.Time) (*inspect.Snapshot, error)
	// End of the recording, once that is known; else zero.
	End() time.Time
}

// Limits of the kept part of a recording. They are higher than for a live feed, since the user can
// look at all of it.
const (
	filmBudget = 4 * inspect.PastBudget
	filmEvents = 10 * screen.EventsKept
)

// filmedMsg carries the next snapshots of the film, or the reason why there are none.
type filmedMsg struct {
	snapshots []*inspect.Snapshot
	err       error
}

// momentMsg carries the requested moment before the film is read that far.
type momentMsg struct {
	sought   time.Time
	snapshot *inspect.Snapshot
}

// lookAhead looks up a moment, and cancels any earlier lookup. The result is drawn until the film
// has been read that far.
func (m *Model) lookAhead(to time.Time) tea.Cmd {
	m.playhead.cancelSeek()
	source := m.options.Film
	own, giveUp := context.WithCancel(m.ctx)
	m.playhead.sought, m.playhead.giveUp = to, giveUp
	return m.Command(0, func(context.Context) tea.Msg {
		defer giveUp()
		if own.Err() != nil {
			return momentMsg{sought: to}
		}
		s, err := source.Moment(own, to)
		if err != nil {
			s = nil // Next reports what is wrong with the recording
		}
		return momentMsg{to, s}
	})
}

// receiveMoment draws the requested moment, unless the film has reached it or the user asked for
// another.
func (m *Model) receiveMoment(msg momentMsg) tea.Cmd {
	if msg.snapshot == nil || !msg.sought.Equal(m.playhead.sought) {
		return nil
	}
	m.playhead.at, m.playhead.ahead, m.playhead.inexact, m.now = msg.snapshot.TakenAt, true, 0, msg.snapshot.TakenAt
	m.snapshot, m.missed = msg.snapshot, true
	m.pastEvents = m.events.Until(m.playhead.at)
	m.changes.add(nil, true)
	return m.front().Update(m.news())
}

func (m *Model) nextFilmed() tea.Cmd {
	source := m.options.Film
	return m.Command(0, func(ctx context.Context) tea.Msg {
		list, err := source.Next(ctx)
		return filmedMsg{list, err}
	})
}

// receiveFilmed adds a batch to the film, and starts playing with the first one.
func (m *Model) receiveFilmed(msg filmedMsg) tea.Cmd {
	for _, s := range msg.snapshots {
		before := m.waiting
		before = cmp.Or(before, m.snapshot)
		m.past.Add(s)
		m.addEvents(ownEvents(s.Events), s.Dropped, before, s)
		m.waiting = s
	}
	switch {
	case errors.Is(msg.err, io.EOF):
		m.filmRead = true
		if !m.arrived {
			m.feedError = errors.New("the recording is empty")
		}
		return m.reachSought()
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.filmRead, m.feedError = true, msg.err
		return m.reachSought()
	case m.arrived:
		m.pastEvents = m.events.Until(m.playhead.at)
		return tea.Batch(m.reachSought(), m.nextFilmed())
	}
	m.arrived, m.paused = true, true
	m.playhead.plays = true
	return tea.Batch(m.draw(m.past.From(), true), m.nextFilmed())
}

// filmed reports whether a recording is played instead of a feed.
func (m *Model) filmed() bool { return m.options.Film != nil }

// reading reports whether a recording is playing that has not been read to its end.
func (m *Model) reading() bool { return m.filmed() && !m.filmRead }

// filmEnd is the requested moment for the end of the recording, whenever that is.
var filmEnd = time.Unix(1<<40, 0)

// reachSought draws the requested moment once the film has reached it, or the end if the
// recording ends earlier.
func (m *Model) reachSought() tea.Cmd {
	switch to := m.playhead.sought; {
	case to.IsZero():
		return nil
	case to.Before(m.past.To()):
		return m.draw(to, true)
	case m.filmRead:
		return m.atEnd()
	}
	return nil
}

// newest is the last moment that can be drawn: now, or the end of the recording as far as it has
// been read.
func (m *Model) newest() time.Time {
	if m.filmed() {
		return m.past.To()
	}
	return m.options.now()
}

// atEnd draws the end of the recording and stops there. While more is still being read, it keeps
// playing.
func (m *Model) atEnd() tea.Cmd {
	if m.filmRead {
		m.playhead.plays = false
	}
	return m.draw(m.past.To(), true)
}

// filmLength is the length of the recording, or of the part read so far. known reports that it is
// the full length.
func (f frame) filmLength() (length time.Duration, known bool) {
	if end := f.options.Film.End(); f.reading() && !end.IsZero() {
		return end.Sub(f.past.From()), true
	}
	return f.past.To().Sub(f.past.From()), f.filmRead
}

// filmWords describes the playhead's position in the recording and its motion, as in "3:20 of
// 10:00" and "plays 4×".
func (f frame) filmWords() (where, doing string) {
	p := &f.playhead
	length, known := f.filmLength()
	where = position(p.at.Sub(f.past.From())) + " of " + position(length)
	switch read := position(f.past.To().Sub(f.past.From())); {
	case !known:
		where += " read"
	case p.ahead:
		return where, "only " + read + " of its history read"
	case !f.filmRead:
		where += " (" + read + " read)"
	}
	switch {
	case p.sought.Equal(filmEnd):
		return where, "reading to the end"
	case !p.sought.IsZero():
		return where, "reading to " + position(p.sought.Sub(f.past.From()))
	case p.plays:
		return where, "plays " + p.speedWords()
	case f.filmRead && !p.at.Before(f.past.To()):
		return where, "the end"
	default:
		return where, "paused"
	}
}

// position formats the time since the beginning as media players do.
func position(d time.Duration) string {
	seconds := int(d.Seconds())
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
