package tui

import (
	"slices"

	"github.com/lockscope/lockscope/tui/screen"
)

// The smallest window with room for everything. In a smaller one, down to minWidth x minHeight,
// the screens are compact and read-only, since an action must be visible in full.
const (
	roomyWidth  = 80
	roomyHeight = 24
)

// compact reports whether the window is too small to act in.
func (m *Model) compact() bool { return m.width < roomyWidth || m.height < roomyHeight }

// small reports whether the window cannot show the current screen or dialog.
func (m *Model) small() bool {
	if m.width < minWidth || m.height < minHeight {
		return true
	}
	return m.escapable()
}

// escapable reports whether something open does not fit into a compact window, and can be closed
// with esc.
func (m *Model) escapable() bool {
	return m.width >= minWidth && m.height >= minHeight && m.compact() &&
		(m.inFront == screen.Lab || m.HasDialog() && !shrinks(m.top()))
}

// shrinks reports whether a dialog also shows what matters in a compact window.
func shrinks(d screen.Dialog) bool {
	switch d.(type) {
	case *help, *palette, *screen.Copying, *screen.Ticket, *lossBox:
		return true
	default:
		return false
	}
}

// cramped is the reason why a key is disabled in a compact window; empty if it works.
func (m *Model) cramped(key string) string {
	if m.compact() && slices.Contains([]string{"x", "X", "a", "A", "K", "m", "L", "8"}, key) {
		return "window too small: it needs 80x24"
	}
	return ""
}
