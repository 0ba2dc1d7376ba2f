package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

// Scene is one thing that a demonstration shows.
type Scene struct {
	// Title names it in a word or two; Text says what happens and which key shows it.
	Title, Text string
	// Lock that it is about.
	Lock inspect.ID
}

// sceneTime is how long a scene stands before the tour goes on by itself.
const sceneTime = 14 * time.Second

// guide leads through the scenes. It goes on by itself until somebody presses a key.
type guide struct {
	scenes []Scene
	at     int
	since  time.Time
	// led: somebody uses the keys, and is not led any more.
	led bool
}

func (g *guide) scene() *Scene { return &g.scenes[g.at] }

func (g *guide) turn(by int, now time.Time) {
	g.at = (g.at + by + len(g.scenes)) % len(g.scenes)
	g.since = now
}

// sceneActions change the scene, where there are any.
func (m *Model) sceneActions() []action {
	if len(m.guide.scenes) == 0 {
		return nil
	}
	return []action{
		{keys: []string{"right"}, shown: "→", help: "the next scene of the demonstration", run: do(func() { m.turnScene(1) })},
		{keys: []string{"left"}, shown: "←", help: "the scene before", run: do(func() { m.turnScene(-1) })},
	}
}

// turnScene changes the scene and goes to its lock in the list.
func (m *Model) turnScene(by int) {
	m.guide.turn(by, m.options.now())
	m.next = navigation{to: m.trail[0]}
	m.showScene()
}

func (m *Model) showScene() {
	if lock, first := m.guide.scene().Lock, m.trail[0].screen; m.snapshot.Lock(lock) != nil {
		m.screens[first].Open(place{first, subject{lock: lock}})
	}
}

// lead keeps the selection on the scene's lock, and goes on to the next scene after a while, for as long as nobody
// presses a key.
func (m *Model) lead() {
	g := &m.guide
	if len(g.scenes) == 0 || g.led || m.paused || m.HasDialog() || len(m.trail) > 1 {
		return
	}
	now := m.options.now()
	if g.since.IsZero() {
		g.since = now
	}
	if now.Sub(g.since) >= sceneTime {
		g.turn(1, now)
	}
	if m.front().Selected().lock != g.scene().Lock {
		m.showScene()
	}
}

// noteKey ends the leading: from now on the keys decide.
func (g *guide) noteKey(msg tea.KeyPressMsg) {
	g.led = g.led || msg.String() != "space"
}

// caption is the title and the text of a line that says what is going on; empty when there is nothing to say.
func (m *Model) caption() (title, text string) {
	if len(m.guide.scenes) > 0 {
		s := m.guide.scene()
		return fmt.Sprintf("%d/%d %s", m.guide.at+1, len(m.guide.scenes), s.Title), s.Text
	}
	if m.options.Caption != nil {
		return "", m.options.Caption(m.now)
	}
	return "", ""
}
