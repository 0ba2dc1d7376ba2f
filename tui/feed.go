package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// heldBackMost bounds the events kept while the screen is paused.
const heldBackMost = 10_000

// snapshotArrivedMsg is the feed's next snapshot, or the error that ended it.
type snapshotArrivedMsg struct {
	snapshot *inspect.Snapshot
	err      error
}

// tickedMsg is a beat of the clock. Beats of an older generation are dropped.
type tickedMsg struct{ generation int }

// snapshotBeat is the minimum time between two drawn snapshots. After a quiet time, the first is
// drawn at once. Readers cannot follow more than 20 states a second, and drawing fewer keeps keys
// responsive.
const snapshotBeat = 50 * time.Millisecond

func (m *Model) nextSnapshot() tea.Cmd {
	feed := m.options.Feed
	if feed == nil {
		return nil
	}
	first := !m.arrived
	return m.Command(0, func(ctx context.Context) tea.Msg {
		if !first && !elapse(ctx, snapshotBeat) {
			return snapshotArrivedMsg{nil, ctx.Err()}
		}
		s, err := feed.Next(ctx)
		return snapshotArrivedMsg{s, err}
	})
}

// elapse waits for d; false if ctx ended first.
func elapse(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// receive shows a snapshot, or keeps it back while paused, and then waits for the next one.
func (m *Model) receive(msg snapshotArrivedMsg) tea.Cmd {
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.feedError = msg.err
		return nil
	}
	m.ring(msg.snapshot)
	switch {
	case m.inPast():
		m.past.Add(msg.snapshot)
		m.addEvents(ownEvents(msg.snapshot.Events), msg.snapshot.Dropped, m.present(), msg.snapshot)
		m.waiting, m.pastEvents = msg.snapshot, m.events.Until(m.playhead.at)
	case m.paused:
		m.past.Add(msg.snapshot)
		m.waiting, m.missed = msg.snapshot, true
		m.heldBack = append(m.heldBack, ownEvents(msg.snapshot.Events)...)
		over := max(0, len(m.heldBack)-heldBackMost)
		m.heldBack = m.heldBack[over:]
		m.skipped += msg.snapshot.Dropped + over
	default:
		m.past.Add(msg.snapshot)
		m.addEvents(ownEvents(msg.snapshot.Events), msg.snapshot.Dropped, m.snapshot, msg.snapshot)
		if cmd := m.show(msg.snapshot); cmd != nil {
			return tea.Batch(cmd, m.nextSnapshot())
		}
	}
	return m.nextSnapshot()
}

// ownEvents copies events so that they keep only their contenders in memory, not whole queues.
func ownEvents(events []inspect.Event) []inspect.Event {
	own := slices.Clone(events)
	for i := range own {
		if c := own[i].Contender; c != nil {
			alone := *c
			own[i].Contender = &alone
		}
	}
	return own
}

func (m *Model) show(s *inspect.Snapshot) tea.Cmd {
	if m.options.now().Sub(m.now) >= screen.FastBeat {
		m.now = m.options.now()
	}
	all := s.Changed == nil || m.missed || !m.arrived
	m.changes.add(s.Changed, all)
	m.recovered.record(m.snapshot, s, m.options.now())
	m.snapshot, m.arrived, m.missed = s, true, false
	if all || m.events.Missed > m.forgot { // the ends of some locks may have been missed
		m.history.Keep(func(id inspect.ID) bool { return s.Lock(id) != nil })
		m.forgot = m.events.Missed
	}
	return m.front().Update(m.news()) // the others hear of it when they are opened
}

// nextTick waits for the next beat. Only the newest tick counts.
func (m *Model) nextTick() tea.Cmd {
	m.ticking++
	generation, beat := m.ticking, screen.SlowBeat
	if m.playhead.plays || m.front().NeedsFastTick() || m.history.Fresh(m.now) {
		beat = screen.FastBeat
	}
	return m.Command(0, func(ctx context.Context) tea.Msg {
		if !elapse(ctx, beat) {
			return nil
		}
		return tickedMsg{generation}
	})
}

func (m *Model) tick(msg tickedMsg) tea.Cmd {
	if msg.generation != m.ticking {
		return nil
	}
	if now := m.options.now(); !m.paused {
		m.now = now
		m.advanceTour()
		if cmd := m.front().Update(screen.TickMsg{}); cmd != nil {
			m.Later(cmd)
		}
	}
	if cmd := m.advance(); cmd != nil {
		m.Later(cmd)
	}
	if !m.options.now().Before(m.flashUntil) {
		m.flashText = ""
	}
	return m.nextTick()
}
