package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// playhead is the moment of the kept past that is drawn, in place of the present.
type playhead struct {
	at      time.Time // zero: the present
	plays   bool
	speed   int       // power of two by which time is played faster than it was
	moved   time.Time // by the clock, when it last moved
	inexact int       // locks of which a later version stands for one that is not kept
}

// The slowest and the fastest playing, as powers of two: a quarter, and 64 times as fast as it was.
const slowest, fastest = -2, 6

// Steps through the past.
const shortStep, longStep = 5 * time.Second, time.Minute

// inPast reports whether another moment than the present is drawn.
func (m *Model) inPast() bool { return !m.playhead.at.IsZero() }

// present is the newest snapshot, drawn or not.
func (m *Model) present() *inspect.Snapshot {
	if m.waiting != nil {
		return m.waiting
	}
	return m.snapshot
}

// pastActions move through what is kept of the past.
func (m *Model) pastActions() []screen.Action {
	none := func() string {
		if m.past.To().IsZero() {
			return "nothing has been seen yet"
		}
		return ""
	}
	atNow := func() string {
		if !m.inPast() {
			return "this is now: [ goes back"
		}
		return ""
	}
	by := func(step time.Duration) func() tea.Cmd {
		return func() tea.Cmd { return m.step(step) }
	}
	faster := func(by int) func() tea.Cmd { return screen.Do(func() { m.changeSpeed(by) }) }
	list := []screen.Action{
		{Keys: []string{"["}, Shown: "[ ]", Help: "5 s back in time, and forward, on every screen", Disabled: none, Run: by(-shortStep)},
		{Keys: []string{"]"}, Disabled: atNow, Run: by(shortStep)},
		{Keys: []string{"{"}, Shown: "{ }", Help: "a minute back in time, and forward", Disabled: none, Run: by(-longStep)},
		{Keys: []string{"}"}, Disabled: atNow, Run: by(longStep)},
		{Keys: []string{"<"}, Shown: "< >", Help: "play the past slower, or faster", Disabled: atNow, Run: faster(-1)},
		{Keys: []string{">"}, Disabled: atNow, Run: faster(1)},
		{Keys: []string{"backspace"}, Shown: "backspace", Help: "from the past to now", Disabled: atNow, Run: m.toPresent},
	}
	return append(list, m.saveAction())
}

// step moves by a time, from the present, too; past the newest moment it is the present again.
func (m *Model) step(by time.Duration) tea.Cmd {
	from := m.playhead.at
	if from.IsZero() {
		from = m.now
		if to := m.past.To(); from.After(to) && by < 0 && m.paused {
			from = to
		}
	}
	return m.seek(from.Add(by))
}

// seek draws another moment.
func (m *Model) seek(to time.Time) tea.Cmd {
	if !to.Before(m.options.now()) {
		return m.toPresent()
	}
	if to.Before(m.past.From()) {
		to = m.past.From()
		m.Flash("nothing is kept before " + to.Format(time.TimeOnly))
	}
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
	m.snapshot, m.missed = s, true
	m.pastEvents = m.events.Until(to)
	m.changes.add(nil, true)
	return m.front().Update(m.news())
}

// toPresent draws the present again, and goes on.
func (m *Model) toPresent() tea.Cmd {
	if !m.inPast() {
		return nil
	}
	m.playhead = playhead{speed: m.playhead.speed}
	m.pastEvents = nil
	m.paused, m.now = false, m.options.now()
	m.snapshot, m.waiting, m.missed = m.present(), nil, true
	return m.show(m.snapshot)
}

// play lets the past go on, or stops it.
func (m *Model) play() {
	m.playhead.plays = !m.playhead.plays
	m.playhead.moved = m.options.now()
}

// advance plays on to where the playhead is by now.
func (m *Model) advance() tea.Cmd {
	if !m.inPast() || !m.playhead.plays {
		return nil
	}
	passed := m.options.now().Sub(m.playhead.moved)
	if m.playhead.speed < 0 {
		passed /= 1 << -m.playhead.speed
	} else {
		passed *= 1 << m.playhead.speed
	}
	return m.seek(m.playhead.at.Add(passed))
}

// changeSpeed doubles or halves the speed, and says so: while it stands still, nothing else shows it.
func (m *Model) changeSpeed(by int) {
	p := &m.playhead
	if to := p.speed + by; to < slowest || to > fastest {
		m.Flash(p.speedWords() + " is as far as it goes")
		return
	}
	p.speed += by
	m.Flash("the past plays " + p.speedWords())
}

// speedWords are x1, x4 or x1/2.
func (p *playhead) speedWords() string {
	if p.speed < 0 {
		return fmt.Sprintf("x1/%d", 1<<-p.speed)
	}
	return fmt.Sprintf("x%d", 1<<p.speed)
}

// pastLine is the moment that is drawn, between the first that is kept and now, and how it goes on; nothing at the present.
// Where space is short the bar goes first, and the key to the present last.
func (m *Model) pastLine() []string {
	if !m.inPast() {
		return nil
	}
	t, p := m.theme, &m.playhead
	doing, space := "stands still", "space plays"
	if p.plays {
		doing, space = "plays "+p.speedWords(), "space stops"
	}
	now := m.options.now()
	moment := widget.Line{{" " + p.at.Format(time.TimeOnly) + " ", t.BadgeWarning}}.Add(t.Strong, " "+describe.Seconds(now.Sub(p.at))+" ago")
	left := slices.Clone(moment).Add(t.Strong, ", "+doing+"  ")
	var inexact, sign widget.Line // later versions of locks are drawn
	if p.inexact > 0 {
		inexact = inexact.Add(t.Warning, fmt.Sprintf("%s %s about  ", t.Glyphs.Warning, describe.Count(p.inexact, "lock")))
		sign = sign.Add(t.Warning, t.Glyphs.Warning+" ")
	}
	keys := widget.Line{{space, t.Key}, {", [ ] 5s, { } 1m, backspace now ", t.Muted}}
	from := widget.Line{{m.past.From().Format(time.TimeOnly) + " ", t.Muted}}
	to := widget.Line{{" now  ", t.Muted}}
	if room := m.width - slices.Concat(left, from, to, inexact, keys).Width(); room >= 8 {
		at := int(float64(room-1) * p.at.Sub(m.past.From()).Seconds() / max(0.001, now.Sub(m.past.From()).Seconds()))
		at = max(0, min(at, room-1))
		bar := strings.Repeat(t.Glyphs.BarFull, at) + t.Glyphs.Holding + strings.Repeat(t.Glyphs.BarRest, room-1-at)
		return []string{slices.Concat(left, from, widget.Line{{bar, t.Waiting}}, to, inexact, keys).Render(m.width, t.Glyphs.Ellipsis, nil)}
	}
	back := widget.Line{{"backspace now", t.Muted}}
	l := slices.Concat(moment, widget.Line{{"  ", t.Text}}, sign, back)
	for _, fuller := range []widget.Line{
		slices.Concat(left, inexact, keys),
		slices.Concat(left, inexact, widget.Line{{space, t.Key}, {", ", t.Muted}}, back),
		slices.Concat(left, sign, back),
	} {
		if fuller.Width() <= m.width {
			l = fuller
			break
		}
	}
	return []string{l.Render(m.width, t.Glyphs.Ellipsis, nil)}
}

// pastSavedMsg is the file that the past was written to, or why it was not.
type pastSavedMsg struct {
	path string
	err  error
}

// savePastLimit bounds the writing: what is kept is up to some tens of megabytes, and disks may be slow.
const savePastLimit = 2 * time.Minute

func (m *Model) saveAction() screen.Action {
	return screen.Action{
		Keys: []string{"R"}, Shown: "R", Help: "save the kept minutes as a recording, which lockscope replay plays",
		Disabled: func() string {
			switch {
			case m.options.SavePast == nil:
				return "this screen writes no files"
			case m.past.To().IsZero():
				return "nothing has been seen yet"
			}
			return ""
		},
		Run: func() tea.Cmd {
			save, past := m.options.SavePast, m.past.Clone()
			m.Flash(fmt.Sprintf("saving what was seen since %s", past.From().Format(time.TimeOnly)))
			return m.Command(savePastLimit, func(ctx context.Context) tea.Msg {
				path, err := save(ctx, past)
				return pastSavedMsg{path, err}
			})
		},
	}
}

func (m *Model) pastSaved(msg pastSavedMsg) {
	if msg.err != nil {
		m.Flash("not saved: " + describe.Printable(msg.err.Error()))
		return
	}
	m.Flash("saved: lockscope replay " + describe.Printable(describe.Quote(msg.path)))
}
