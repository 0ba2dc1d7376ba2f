package tui

import (
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Screens that need a lock show the last selected one, however they are opened.
func TestScreensRememberTheLock(t *testing.T) {
	for _, key := range []string{"L", "t"} {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		press(m, "j", "b", key)
		name := screen.Lab
		if key == "t" {
			name = screen.Timeline
		}
		must.Equal(t, m.inFront, name, key, "opens")
		must.Equal(t, m.front().Selected().Lock, fixture.Orders().ID, key, "is about")
		wantText(t, m, "/locks/orders")
	}
}

// An empty list of events names the key for each of its restrictions.
func TestEmptyEventsNameBothKeys(t *testing.T) {
	m := withEvents(t, Options{}, 80, 24, handoffs(3)...)
	press(m, "k", "o", "/", "zzz")
	wantText(t, m, "esc clears the filter.") // which takes the other keys
	press(m, "enter")
	wantText(t, m, "No events of zk:/locks/orders match the filter", "esc clears the filter, o shows the events of all locks")
	press(m, "esc")
	wantText(t, m, "only zk:/locks/orders")
}

// A backend shows its target, and how to give it a name.
func TestBackendsNameTheirTarget(t *testing.T) {
	second, own := *fixture.Backends()[1], *fixture.Backends()[1]
	second.Name, second.Reach.Target = "redis2", "redis://10.2.1.9:6379/1"
	own.Name, own.Reach.Target = "cache", "redis://10.2.1.9:6379?name=cache"
	m := model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{&second}, nil))
	press(m, "b")
	wantText(t, m, "redis://10.2.1.9:6379/1 (?name=NAME gives it its own name)")
	m = model(t, Options{}, 120, 36, inspect.NewSnapshot(fixture.Noon, []*inspect.Backend{&own}, nil))
	press(m, "b")
	wantText(t, m, "redis://10.2.1.9:6379?name=cache")
	wantNoText(t, m, "NAME")
}
