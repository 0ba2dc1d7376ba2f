package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// playhead is the moment of the past that is drawn instead of the present.
type playhead struct {
	at      time.Time // zero means the present
	plays   bool
	speed   float64   // playing speed; 1 is real time
	moved   time.Time // by the clock, when it last moved
	inexact int       // locks drawn in a later version because theirs was not kept
	sought  time.Time // a moment that is not read yet, drawn once it is; else zero
	ahead   bool      // it is drawn without facts from earlier history
	giveUp  func()    // cancels its lookup; nil without one
}

// The slowest and fastest speeds that the keys offer.
const slowest, fastest = 0.25, 64

// Steps through the past.
const shortStep, longStep = 5 * time.Second, time.Minute

// inPast reports whether a moment of the past is drawn.
func (m *Model) inPast() bool { return !m.playhead.at.IsZero() }

// present is the newest snapshot, drawn or not.
func (m *Model) present() *inspect.Snapshot {
	if m.waiting != nil {
		return m.waiting
	}
	return m.snapshot
}

// pastActions move through the kept past.
func (m *Model) pastActions() []screen.Action {
	none := func() string {
		if m.past.To().IsZero() {
			return "nothing has been seen yet"
		}
		return ""
	}
	atNow := func() string {
		switch {
		case !m.inPast():
			return "already live: [ goes back in time"
		case m.filmed() && m.filmRead && !m.playhead.at.Before(m.past.To()):
			return "this is the end of the recording: [ goes back in time"
		}
		return ""
	}
	atPresent := func() string {
		if !m.inPast() {
			return "already live: [ goes back in time"
		}
		return ""
	}
	by := func(step time.Duration) func() tea.Cmd {
		return func() tea.Cmd { return m.step(step) }
	}
	faster := func(by float64) func() tea.Cmd { return screen.Do(func() { m.Flash(m.playhead.changeSpeed(by)) }) }
	toNow := "back to live"
	if m.filmed() {
		toNow = "to the end of the recording"
	}
	list := []screen.Action{
		{
			Keys: []string{"["}, Shown: "[ ]", Hint: "past", Late: true, Help: "5 s back in time, and forward",
			Disabled: none, Run: by(-shortStep),
		},
		{Keys: []string{"]"}, Disabled: atNow, Run: by(shortStep)},
		{
			Keys: []string{"{"}, Shown: "{ }", Help: "a minute back in time, and forward", Disabled: none,
			Run: by(-longStep),
		},
		{Keys: []string{"}"}, Disabled: atNow, Run: by(longStep)},
		{
			Keys: []string{"<"}, Shown: "< >", Help: "play the past: slower, or faster", Disabled: atPresent,
			Run: faster(0.5),
		},
		{Keys: []string{">"}, Disabled: atPresent, Run: faster(2)},
		{Keys: []string{"backspace"}, Shown: "backspace", Help: toNow, Disabled: atNow, Run: m.toPresent},
	}
	list = append(list, screen.Action{
		Keys: []string{"@"}, Shown: "@", Hint: "rewind", Late: true, Help: "rewind to the selected event, or acquisition",
		Disabled: func() string {
			_, why := moment(m)
			return cmp.Or(why, none())
		},
		Run: m.seekMoment,
	})
	return append(list, changesAction(m, none), m.saveAction())
}

// moment is the time of the selected event. On screens without events, it is the acquisition by
// acquirer, or the first sight of the hold. why is the reason if there is no moment.
func moment(m *Model) (at time.Time, why string) {
	if s, ok := m.front().(screen.Dated); ok {
		if at = s.Moment(); at.IsZero() {
			why = "no event with a known time is selected"
		}
		return at, why
	}
	l, c, why := acquirer(m)
	if why != "" {
		return at, why
	}
	ago, known := m.snapshot.Age(l, c, c.HeldSince, m.now)
	switch {
	case known:
		return m.now.Add(-ago.Duration), ""
	case c.State != inspect.Holding:
		return at, "it has not acquired the lock yet"
	case !c.Seen.IsZero():
		return c.Seen, ""
	default:
		return at, "its acquisition of the lock was not seen"
	}
}

// acquirer is the contender whose acquisition @ goes to: the selected one, or the first of several
// holders of a lock in the list, which is the one that its pane describes.
func acquirer(m *Model) (l *inspect.Lock, c *inspect.Contender, why string) {
	l, c, why = acting{m.world}.selected()
	if why != "" && m.inFront == screen.Locks && l != nil && len(l.Holders) > 1 {
		return l, &l.Holders[0], ""
	}
	return l, c, why
}

// seekMoment draws the state one step after the selected moment, when the lock shows it. If that
// is still in the future, it draws now.
func (m *Model) seekMoment() tea.Cmd {
	at, _ := moment(m)
	at = at.Add(inspect.PastStep)
	var chosen screen.Place // one of several holders, to stay with
	if _, event := m.front().(screen.Dated); !event {
		l, c, _ := acquirer(m)
		if len(l.Holders) > 1 {
			chosen = screen.Place{Screen: m.inFront, Subject: screen.Subject{Lock: l.ID, Contender: c.Name}}
		}
		if c.HeldSince.IsZero() { // the grant was not seen
			m.Flash(fmt.Sprintf("already held when first seen: %s, by %s", l.ID, describe.Owner(c)))
		} else {
			m.Flash(fmt.Sprintf("when %s acquired %s", describe.Owner(c), l.ID))
		}
	}
	seek := func() tea.Cmd { return m.seek(at) }
	if now := m.newest(); !m.filmed() && !at.Before(now) {
		seek = func() tea.Cmd { return m.draw(now, true) }
	}
	cmd := seek()
	if chosen.Screen != "" {
		cmd = tea.Batch(cmd, m.front().Open(chosen, m.news()))
	}
	return cmd
}

// step moves by a time span, even from the present. Past the newest moment, it returns to the
// present.
func (m *Model) step(by time.Duration) tea.Cmd {
	from := m.playhead.at
	if from.IsZero() {
		from = m.now
		if to := m.past.To(); from.After(to) && by < 0 && m.paused {
			from = to
		}
	}
	if s := m.playhead.sought; !s.IsZero() && !s.Equal(filmEnd) {
		from = s
	}
	return m.seek(from.Add(by))
}

// seek draws another moment.
func (m *Model) seek(to time.Time) tea.Cmd {
	switch {
	case to.Before(m.newest()):
	case m.reading():
		return m.lookAhead(to)
	default:
		return m.toPresent()
	}
	if from := m.past.From(); to.Before(from) {
		to = from
		if m.Flash("no history before " + to.Format(time.TimeOnly)); m.filmed() {
			m.Flash("the recording begins here")
		}
	}
	return m.draw(to, true)
}

// draw draws a moment of the past. all is set unless it follows soon after the drawn one.
func (m *Model) draw(to time.Time, all bool) tea.Cmd {
	s, inexact := m.past.At(to)
	if s == nil {
		return nil
	}
	if !m.inPast() {
		m.waiting, m.paused = m.present(), true
		m.addEvents(m.heldBack, m.skipped, m.snapshot, m.waiting)
		m.heldBack, m.skipped = nil, 0
	}
	m.playhead.at, m.playhead.inexact, m.playhead.moved, m.now = to, inexact, m.options.now(), to
	m.playhead.cancelSeek()
	m.playhead.ahead = false
	var changed []inspect.ID
	if !all {
		changed = s.Changes(m.snapshot)
	}
	m.snapshot, m.missed = s, true
	m.pastEvents = m.events.Until(to)
	m.changes.add(changed, all)
	return m.front().Update(m.news())
}

// toPresent returns to the present, and continues from there.
func (m *Model) toPresent() tea.Cmd {
	switch {
	case !m.inPast():
		return nil
	case m.reading():
		return m.lookAhead(filmEnd)
	case m.filmed():
		return m.atEnd()
	}
	m.playhead = playhead{speed: m.playhead.speed}
	m.pastEvents = nil
	m.paused, m.now = false, m.options.now()
	m.snapshot, m.waiting, m.missed = m.present(), nil, true
	return m.show(m.snapshot)
}

// play starts or stops playing the past, and cancels the wait for a moment that has not been read
// yet. At the end of a recording it starts over.
func (m *Model) play() {
	switch p := &m.playhead; {
	case p.ahead: // playing starts once the history up to it is read
		p.plays = !p.plays
		return
	case !p.sought.IsZero():
		p.cancelSeek()
		p.plays = false
		return
	}
	if m.filmed() && m.filmRead && !m.playhead.at.Before(m.past.To()) {
		m.Later(m.draw(m.past.From(), true))
	}
	m.playhead.plays = !m.playhead.plays
	m.playhead.moved = m.options.now()
}

// cancelSeek cancels the request for a moment, and its lookup.
func (p *playhead) cancelSeek() {
	if p.giveUp != nil {
		p.giveUp()
	}
	p.sought, p.giveUp = time.Time{}, nil
}

// advance draws the moment that the playhead has reached.
func (m *Model) advance() tea.Cmd {
	if !m.inPast() || !m.playhead.plays || !m.playhead.sought.IsZero() {
		return nil
	}
	passed := time.Duration(float64(m.options.now().Sub(m.playhead.moved)) * m.playhead.speed)
	if to := m.playhead.at.Add(passed); to.Before(m.newest()) {
		return m.draw(to, false)
	}
	if m.filmed() {
		return m.atEnd()
	}
	return m.toPresent()
}

// changeSpeed doubles or halves the speed and returns a message about it, since nothing else
// shows it while paused.
func (p *playhead) changeSpeed(by float64) (said string) {
	if to := p.speed * by; to < slowest && by < 1 || to > fastest && by > 1 {
		return p.speedWords() + " is the limit"
	}
	p.speed *= by
	return "the past plays " + p.speedWords()
}

// speedWords is the speed, such as x1, x4 or x1/2.
func (p *playhead) speedWords() string {
	if n := 1 / p.speed; n > 1 && n == math.Trunc(n) {
		return fmt.Sprintf("x1/%.0f", n)
	}
	return fmt.Sprintf("x%g", p.speed)
}

// pastLine shows the drawn moment between the first and the newest one that can be drawn, and how
// it plays. It is empty at the present. If space is short, the bar is dropped first, and the key to
// the present last.
func (f frame) pastLine() []string {
	if !f.inPast() {
		return nil
	}
	t, p := f.theme, &f.playhead
	where, doing := describe.Seconds(f.options.now().Sub(p.at))+" ago", "paused"
	newest, back := "now", "backspace: live"
	if p.plays {
		doing = "plays " + p.speedWords()
	}
	if f.filmed() {
		where, doing = f.filmWords()
		newest, back = f.pastEnd().Format(time.TimeOnly), "backspace: end"
	}
	space := "space plays"
	if p.plays || !p.sought.IsZero() && !p.ahead {
		space = "space stops"
	}
	moment := widget.Line{{" " + p.at.Format(time.TimeOnly) + " ", t.BadgeWarning}}.Add(t.Strong, " "+where)
	left := slices.Clone(moment).Add(t.Strong, ", "+doing+"  ")
	var doubts, sign widget.Line // later versions of locks are drawn, or a backend was not watched
	if gaps := f.past.GapsAt(p.at); len(gaps) > 0 {
		doubts = doubts.Add(t.Warning,
			fmt.Sprintf("%s %s was not watched  ", t.Glyphs.Warning, describe.Printable(gaps[0].Backend)))
	} else if p.inexact > 0 {
		doubts = doubts.Add(t.Warning,
			fmt.Sprintf("%s %s approximate  ", t.Glyphs.Warning, describe.Count(p.inexact, "lock")))
	}
	if doubts != nil {
		sign = sign.Add(t.Warning, t.Glyphs.Warning+" ")
	}
	keys := widget.Line{{space, t.Key}, {", [ ] 5s, { } 1m, < > x2, " + back + " ", t.Muted}}
	from := widget.Line{{f.past.From().Format(time.TimeOnly) + " ", t.Muted}}
	to := widget.Line{{" " + newest + "  ", t.Muted}}
	if room := f.width - slices.Concat(left, from, to, doubts, keys).Width(); room >= 8 {
		at := int(float64(room-1) * p.at.Sub(f.past.From()).Seconds() / max(0.001,
			f.pastEnd().Sub(f.past.From()).Seconds()))
		at = max(0, min(at, room-1))
		bar := strings.Repeat(t.Glyphs.BarFull, at) + t.Glyphs.Holding + strings.Repeat(t.Glyphs.BarRest, room-1-at)
		all := slices.Concat(left, from, widget.Line{{bar, t.Waiting}}, to, doubts, keys)
		return []string{all.Render(f.width, t.Glyphs.Ellipsis, nil)}
	}
	last := widget.Line{{back, t.Muted}}
	l := slices.Concat(moment, widget.Line{{"  ", t.Text}}, sign, last)
	for _, fuller := range []widget.Line{
		slices.Concat(left, doubts, keys),
		slices.Concat(left, doubts, widget.Line{{space, t.Key}, {", ", t.Muted}}, last),
		slices.Concat(left, sign, last),
	} {
		if fuller.Width() <= f.width {
			l = fuller
			break
		}
	}
	return []string{l.Render(f.width, t.Glyphs.Ellipsis, nil)}
}

// pastEnd is the right end of the line of the past: now, or the end of the recording if known.
func (f frame) pastEnd() time.Time {
	if !f.filmed() {
		return f.newest()
	}
	length, _ := f.filmLength()
	return f.past.From().Add(length)
}
