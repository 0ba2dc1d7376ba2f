package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// Scene is one step of a demonstration.
type Scene struct {
	// Title names it in a word or two; Text describes it with the key that shows it.
	Title, Text string
	// Lock is the lock that it shows.
	Lock inspect.ID
}

// sceneTime is the time after which the tour automatically continues.
const sceneTime = 14 * time.Second

// tour leads through the scenes. It continues automatically until the user presses a key or clicks,
// and again on request.
type tour struct {
	scenes []Scene
	at     int
	since  time.Time
	// stopped is set once the user has taken over.
	stopped bool
}

func (g *tour) scene() *Scene { return &g.scenes[g.at] }

func (g *tour) turn(by int, now time.Time) {
	g.at = (g.at + by + len(g.scenes)) % len(g.scenes)
	g.since = now
}

// sceneActions are the keys that change the scene, if there are any scenes.
func (m *Model) sceneActions() []screen.Action {
	if len(m.tour.scenes) == 0 {
		return nil
	}
	return []screen.Action{
		{
			Keys: []string{"right"}, Shown: "→", Help: "the next scene of the demonstration",
			Run: screen.Do(func() { m.turnScene(1) }),
		},
		{Keys: []string{"left"}, Shown: "←", Help: "the previous scene", Run: screen.Do(func() { m.turnScene(-1) })},
		{Keys: []string{"P"}, Shown: "P", Help: "play the scenes, until the next key", Run: m.tourOn},
	}
}

// tourOn resumes the scenes, at the present and not paused.
func (m *Model) tourOn() tea.Cmd {
	var cmd tea.Cmd
	if m.inPast() {
		cmd = m.toPresent()
	} else if m.paused {
		cmd = m.pause()
	}
	m.tour.stopped = false
	m.turnScene(0)
	return cmd
}

// tourWords say whether the demo plays or is stopped, with the key for the other; empty without
// scenes.
func (f frame) tourWords() string {
	switch {
	case len(f.tour.scenes) == 0:
		return ""
	case f.tour.stopped:
		return "demo paused: P resumes"
	case f.paused:
		return "demo paused: space resumes"
	default:
		return "demo running: any key pauses"
	}
}

// turnScene changes the scene and goes to its lock in the list.
func (m *Model) turnScene(by int) {
	m.tour.turn(by, m.options.now())
	m.showScene()
}

// showScene selects the scene's lock in the list of locks.
func (m *Model) showScene() {
	m.backStack, m.openedFrom = m.backStack[:1], m.inFront
	m.Later(m.open(screen.Place{Screen: m.backStack[0].Screen, Subject: screen.Subject{Lock: m.tour.scene().Lock}}))
}

// advanceTour keeps the scene's lock selected, and moves on to the next scene after a while,
// until the user presses a key.
func (m *Model) advanceTour() {
	g := &m.tour
	if len(g.scenes) == 0 || g.stopped || m.paused || m.HasDialog() || len(m.backStack) > 1 {
		return
	}
	now := m.options.now()
	if g.since.IsZero() {
		g.since = now
	}
	if now.Sub(g.since) >= sceneTime {
		g.turn(1, now)
	}
	if m.front().Selected().Lock != g.scene().Lock {
		m.showScene()
	}
}

// recordKey stops the tour on any key but space, which pauses it.
func (g *tour) recordKey(msg tea.KeyPressMsg) {
	g.stopped = g.stopped || msg.String() != "space"
}

// caption is the scene's title and text, or Options.Caption; empty without either.
func (f frame) caption() (title, text string) {
	if len(f.tour.scenes) > 0 {
		s := f.tour.scene()
		return fmt.Sprintf("%d/%d %s", f.tour.at+1, len(f.tour.scenes), s.Title), s.Text
	}
	if f.options.Caption != nil {
		return "", f.options.Caption(f.now)
	}
	return "", ""
}
