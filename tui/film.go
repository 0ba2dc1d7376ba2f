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

// Film hands out the snapshots of a recording while it is read, some at a time, the oldest first; io.EOF
// after the last.
type Film interface {
	Next(ctx context.Context) ([]*inspect.Snapshot, error)
}

// How much of a recording is kept: more than of a live feed, as the user can look at all of it. It
// takes up to four times as much in the heap.
const (
	filmBudget = 4 * inspect.PastBudget
	filmEvents = 40 * screen.EventsKept
)

// filmedMsg are the next snapshots of the film, or why there are none.
type filmedMsg struct {
	snapshots []*inspect.Snapshot
	err       error
}

func (m *Model) nextFilmed() tea.Cmd {
	source := m.options.Film
	return m.Command(0, func(ctx context.Context) tea.Msg {
		list, err := source.Next(ctx)
		return filmedMsg{list, err}
	})
}

// receiveFilmed keeps more of the film, of which all is the past, and begins to play it with the first that comes.
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

// reading reports whether a recording is played that is not read to its end yet.
func (m *Model) reading() bool { return m.filmed() && !m.filmRead }

// filmEnd is sought where the end of the recording is, whenever that was.
var filmEnd = time.Unix(1<<40, 0)

// reachSought draws the moment that was sought while it was not read, once it is; the end where the recording
// ends before it.
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

// newest is the end of what can be drawn: now, or the end of the recording as far as it is read.
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

// filmWords has the playhead's position in the recording and its motion, as in "3:20 of 10:00", "plays 4×".
func (f frame) filmWords() (where, doing string) {
	p := &f.playhead
	where = position(p.at.Sub(f.past.From())) + " of " + position(f.past.To().Sub(f.past.From()))
	if !f.filmRead {
		where += " read"
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

// position is a time since the beginning, as players write it.
func position(d time.Duration) string {
	seconds := int(d.Seconds())
	if seconds < 3600 {
		return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}
