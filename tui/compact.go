package tui

import (
	"slices"

	"github.com/lockscope/lockscope/tui/screen"
)

// The least window with room for everything. Below it, down to minWidth x minHeight, the screens
// are compact and only show: an action must be seen whole.
const (
	roomyWidth  = 80
	roomyHeight = 24
)

// compact reports whether the window is too small to act in.
func (m *Model) compact() bool { return m.width < roomyWidth || m.height < roomyHeight }

// small reports whether nothing of the screen or dialog in front can be shown.
func (m *Model) small() bool {
	if m.width < minWidth || m.height < minHeight {
		return true
	}
	return m.escapable()
}

// escapable reports whether something is in front that a compact window has no room for, and that esc closes.
func (m *Model) escapable() bool {
	return m.width >= minWidth && m.height >= minHeight && m.compact() &&
		(m.inFront == screen.Lab || m.HasDialog() && !shrinks(m.top()))
}

// shrinks reports whether a dialog shows what matters in a compact window too.
func shrinks(d screen.Dialog) bool {
	switch d.(type) {
	case *help, *palette, *screen.Copying, *screen.Ticket, *lossBox:
		return true
	default:
		return false
	}
}

// cramped is the reason why a key does nothing in a compact window; empty if it works.
func (m *Model) cramped(key string) string {
	if m.compact() && slices.Contains([]string{"x", "X", "a", "A", "K", "m", "L", "8"}, key) {
		return "window too small: it needs 80x24"
	}
	return ""
}
