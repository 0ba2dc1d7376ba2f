package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func twoScenes() []Scene {
	return []Scene{
		{Title: "first", Text: "look at invoices", Lock: inspect.ID{Backend: "redis", Path: "lock:invoices"}},
		{Title: "second", Text: "look at orders", Lock: fixture.Orders().ID},
	}
}

func TestDemoRunsUntilKeyPress(t *testing.T) {
	clock := fixture.Noon
	m := model(t, Options{Scenes: twoScenes(), Now: func() time.Time { return clock }}, 80, 24, fixture.Everything())
	beat := func(d time.Duration) {
		clock = clock.Add(d)
		send(m, tickedMsg{m.ticking})
	}
	beat(time.Second)
	wantText(t, m, "1/2 first", "look at invoices", "demo running: any key pauses")
	must.Equal(t, locksOf(m).Current.Lock, twoScenes()[0].Lock, "selected")
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	press(m, "k")
	selected := locksOf(m).Current.Lock
	beat(sceneTime)
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, selected, "the demo moved the user's cursor")
	wantText(t, m, "demo paused: P resumes")
	press(m, "P")
	wantText(t, m, "demo running: any key pauses", "2/2 second")
	beat(sceneTime)
	wantText(t, m, "1/2 first")
	send(m, tea.MouseClickMsg{X: 10, Y: 5, Button: tea.MouseLeft})
	wantText(t, m, "demo paused: P resumes")
	fits(t, m)
}

func TestArrowsChangeTheScene(t *testing.T) {
	m := model(t, Options{Scenes: twoScenes()}, 80, 24, fixture.Everything())
	press(m, "enter")
	wantText(t, m, "▸ chain")
	press(m, "right")
	wantNoText(t, m, "▸ chain")
	wantText(t, m, "2/2 second")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "selected")
	press(m, "right", "left")
	wantText(t, m, "2/2 second")
	fits(t, m)
	m = model(t, Options{Scenes: twoScenes(), Theme: theme.Options{ASCII: true}}, 120, 36, fixture.Everything())
	press(m, "?")
	must.True(t, isASCII(content(m)), "not ASCII")
}

// A caption always takes two lines, so that the screen does not jump when it changes.
func TestCaptionsTakeTwoLines(t *testing.T) {
	scenes := []Scene{{Title: "short", Text: "a"}, {Title: "long", Text: strings.Repeat("word ", 60)}}
	m := model(t, Options{Scenes: scenes}, 80, 24, fixture.Everything())
	before := len(frame{m}.foot())
	press(m, "right")
	must.Equal(t, before, 4, "lines of the footer")
	must.Equal(t, len(frame{m}.foot()), 4, "lines of the footer then")
	fits(t, m)
}
