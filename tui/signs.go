package tui

import (
	"fmt"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

func modeCell(t *theme.Theme, c *inspect.Contender) line {
	if c.Mode == recipe.Shared {
		return line{{"read", t.Text}}
	}
	return line{{"write", t.Strong}}
}

func contenderSign(t *theme.Theme, c *inspect.Contender) (span, string) {
	switch c.State {
	case inspect.Holding:
		word := "holds"
		if c.Count > 1 {
			word = fmt.Sprintf("holds %dx", c.Count)
		}
		return span{t.Glyphs.Holding, t.Holding}, word
	case inspect.Pending:
		return span{t.Glyphs.Pending, t.Waiting}, "pending"
	default:
		return span{t.Glyphs.Waiting, t.Waiting}, "waits"
	}
}

// sign is the glyph of a lock and its style.
func sign(t *theme.Theme, l *inspect.Lock) span { return rankSign(t, describe.LevelOf(l)) }

func rankSign(t *theme.Theme, r describe.Level) span {
	switch r {
	case describe.LevelCritical:
		return span{t.Glyphs.Critical, t.Critical}
	case describe.LevelWarning:
		return span{t.Glyphs.Warning, t.Warning}
	case describe.LevelUnknown:
		return span{t.Glyphs.Unknown, t.Unknown}
	case describe.LevelFree:
		return span{t.Glyphs.Free, t.Free}
	default:
		return span{t.Glyphs.Holding, t.Holding}
	}
}

// severitySign is the glyph of a finding and its style.
func severitySign(t *theme.Theme, s inspect.Severity) span {
	switch s {
	case inspect.Critical:
		return span{t.Glyphs.Critical, t.Critical}
	case inspect.Warning:
		return span{t.Glyphs.Warning, t.Warning}
	default:
		return span{t.Glyphs.Info, t.Info}
	}
}

// backendSign is the glyph of a backend's state and its style.
func backendSign(t *theme.Theme, s inspect.BackendState) span {
	switch s {
	case inspect.Degraded:
		return span{t.Glyphs.Pending, t.Warning}
	case inspect.Down:
		return span{t.Glyphs.Critical, t.Critical}
	default:
		return span{t.Glyphs.Holding, t.Holding}
	}
}

// eventSign is the glyph of an event and its style.
func eventSign(t *theme.Theme, e *inspect.Event) span {
	g := t.Glyphs
	switch e.Kind {
	case inspect.EventAcquired:
		return span{g.Holding, t.Holding}
	case inspect.EventHandover:
		return span{g.Handover, t.Holding}
	case inspect.EventWaiting:
		return span{g.Waiting, t.Waiting}
	case inspect.EventReleased:
		return span{g.Free, t.Muted}
	case inspect.EventExpired:
		return span{g.Expired, t.Warning}
	case inspect.EventLost:
		return span{g.Warning, t.Warning}
	case inspect.EventForced:
		return span{g.Forced, t.Warning}
	case inspect.EventFinding:
		return severitySign(t, e.Finding.Severity)
	case inspect.EventCleared:
		return span{g.Cleared, t.Holding}
	case inspect.EventBackend:
		return backendSign(t, e.Backend.State)
	case inspect.EventBlind, inspect.EventChanged:
		return span{g.Warning, t.Warning}
	case inspect.EventAppeared:
		return span{g.Came, t.Muted}
	default:
		return span{g.Went, t.Muted}
	}
}
