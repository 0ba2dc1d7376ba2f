package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Glyphs are the symbols drawn on the screen. Each is one cell wide, except those of watches and of
// the tree.
type Glyphs struct {
	Holding, Waiting, Pending, Critical, Warning, Info, Free, Unknown string
	// WatchConfirmed, WatchExpected and WatchMissing precede the watched number.
	WatchConfirmed, WatchExpected, WatchMissing string
	// Branch and LastBranch start a row of the queue's tree, two cells each.
	Branch, LastBranch string
	// Breadcrumb separates breadcrumbs, Dot separates facts, Rule fills a line, Cursor marks the
	// selected row.
	Breadcrumb, Dot, Rule, Cursor, Ellipsis, Dash, Arrow, Wall, AtMost, AtLeast string
	// Bar is the full cell of a bar. The others are for a bar that runs down. They are low, so
	// that bars in adjacent rows stay apart.
	Bar, BarFull, BarHalf, BarRest string
	Lane                           LaneGlyphs
	// Steps are the heights of a plot's cell, the lowest first.
	Steps [8]string
	// Up and Down mark a list that continues. Opened and Closed mark a group of rows.
	Up, Down, Opened, Closed string
	// Handover, Expired, Forced, Cleared, Came and Went mark events that have no state symbol.
	Handover, Expired, Forced, Cleared, Came, Went string
	Border                                         lipgloss.Border
}

// LaneGlyphs draw a contender's lane. Unclear is a time when it waited or held, Open an unknown
// beginning, and Left an end without a grant. Start marks the time when we began to look.
type LaneGlyphs struct{ Wait, Hold, Unclear, Open, Left, Start string }

// Translate writes a sentence with the signs … · – → ≤ ≥ in these glyphs.
func (g *Glyphs) Translate(text string) string {
	if g.Ellipsis == "…" || strings.IndexFunc(text, func(r rune) bool { return r > '~' }) < 0 {
		return text
	}
	return strings.NewReplacer("→", g.Arrow, "…", g.Ellipsis, "·", g.Dot, "–", g.Dash, "≤", g.AtMost, "≥", g.AtLeast).Replace(text)
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Holding: "●", Waiting: "○", Pending: "◐", Critical: "✖", Warning: "▲", Info: "i", Free: "·", Unknown: "?",
		WatchConfirmed: "⇢", WatchExpected: "⇠", WatchMissing: "⇥✖",
		Branch: "├─", LastBranch: "└─",
		Breadcrumb: "▸", Dot: "·", Rule: "─", Cursor: "▌", Ellipsis: "…", Dash: "–", Arrow: "→", Wall: "│", AtMost: "≤", AtLeast: "≥",
		Bar: "▇", BarFull: "━", BarHalf: "╸", BarRest: "╌",
		Lane:  LaneGlyphs{Wait: "─", Hold: "▇", Unclear: "╌", Open: "◂", Left: "×", Start: "┊"},
		Steps: [8]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		Up:    "↑", Down: "↓", Opened: "▾", Closed: "▸",
		Handover: "»", Expired: "◌", Forced: "×", Cleared: "✓", Came: "+", Went: "-",
		Border: lipgloss.RoundedBorder(),
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		Holding: "*", Waiting: "o", Pending: "%", Critical: "X", Warning: "!", Info: "i", Free: ".", Unknown: "?",
		WatchConfirmed: "->", WatchExpected: "~>", WatchMissing: "-X",
		Branch: "|-", LastBranch: "`-",
		Breadcrumb: ">", Dot: "-", Rule: "-", Cursor: ">", Ellipsis: "~", Dash: "-", Arrow: "->", Wall: "|", AtMost: "<=", AtLeast: ">=",
		Bar: "=", BarFull: "=", BarHalf: "=", BarRest: "-",
		Lane:  LaneGlyphs{Wait: "-", Hold: "#", Unclear: ":", Open: "<", Left: "x", Start: "|"},
		Steps: [8]string{"_", "-", "-", "=", "=", "+", "#", "#"},
		Up:    "^", Down: "v", Opened: "-", Closed: "+",
		Handover: ">", Expired: "~", Forced: "#", Cleared: "=", Came: "+", Went: "-",
		Border: lipgloss.ASCIIBorder(),
	}
}
