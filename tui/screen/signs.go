package screen

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"
)

func ModeCell(t *theme.Theme, c *inspect.Contender) widget.Line {
	if c.Mode == recipe.Shared {
		return widget.Line{{"read", t.Text}}
	}
	return widget.Line{{"write", t.Strong}}
}

func ContenderSign(t *theme.Theme, c *inspect.Contender) (widget.Span, string) {
	switch c.State {
	case inspect.Holding:
		word := "holds"
		if c.Count > 1 {
			word = fmt.Sprintf("holds %dx", c.Count)
		}
		return widget.Span{t.Glyphs.Holding, t.Holding}, word
	case inspect.Pending:
		return widget.Span{t.Glyphs.Pending, t.Waiting}, "pending"
	default:
		return widget.Span{t.Glyphs.Waiting, t.Waiting}, "waits"
	}
}

// You is the mark after the name of an owner that is this program; nil for others. The program
// labels its locks by host and process.
func You(t *theme.Theme, o *inspect.Owner) widget.Line {
	pid := ":" + strconv.Itoa(os.Getpid())
	if host, ours := strings.CutSuffix(o.Label.Raw(), pid); ours {
		if name, err := os.Hostname(); err == nil && name == host {
			return widget.Line{{" (you)", t.Holding}}
		}
	}
	return nil
}

// Muted reports whether all findings on a lock are muted, so that it counts as neither healthy
// nor in trouble.
func Muted(l *inspect.Lock) bool { return len(l.Findings) > 0 && describe.Worst(l.Findings) == nil }

// Sign is the glyph of a lock and its style.
func Sign(t *theme.Theme, l *inspect.Lock) widget.Span {
	sign := LevelSign(t, describe.LevelOf(l))
	if Muted(l) {
		sign.Style = t.Faint
	}
	return sign
}

func LevelSign(t *theme.Theme, r describe.Level) widget.Span {
	switch r {
	case describe.LevelCritical:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	case describe.LevelWarning:
		return widget.Span{t.Glyphs.Warning, t.Warning}
	case describe.LevelUnknown:
		return widget.Span{t.Glyphs.Unknown, t.Unknown}
	case describe.LevelFree:
		return widget.Span{t.Glyphs.Free, t.Free}
	default:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	}
}

// SeveritySign is the glyph of a finding and its style.
func SeveritySign(t *theme.Theme, s inspect.Severity) widget.Span {
	switch s {
	case inspect.Critical:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	case inspect.Warning:
		return widget.Span{t.Glyphs.Warning, t.Warning}
	default:
		return widget.Span{t.Glyphs.Info, t.Info}
	}
}

// FindingSign is the glyph of a finding and its style, which is faint for a muted one.
func FindingSign(t *theme.Theme, f *inspect.Finding) widget.Span {
	mark := SeveritySign(t, f.Severity)
	if f.Muted != nil {
		mark.Style = t.Faint
	}
	return mark
}

// RuleName is the rule of a finding, and says if the finding is muted.
func RuleName(f *inspect.Finding) string {
	name := describe.Printable(f.Rule)
	if f.Muted != nil {
		name += " (muted)"
	}
	return name
}

// MutedBy says who muted a finding, until when and why.
func MutedBy(host Context, m *inspect.Muted) string {
	return fmt.Sprintf("muted by %s until %s: %s", describe.Printable(m.By), describe.When(m.Until, host.Now().Local()),
		describe.Printable(m.Reason))
}

// BackendSign is the glyph of a backend's state and its style.
func BackendSign(t *theme.Theme, s inspect.BackendState) widget.Span {
	switch s {
	case inspect.Degraded:
		return widget.Span{t.Glyphs.Pending, t.Warning}
	case inspect.Down:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	default:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	}
}

// EventSign is the glyph of an event and its style.
func EventSign(t *theme.Theme, e *inspect.Event) widget.Span {
	g := t.Glyphs
	switch e.Kind {
	case inspect.EventFinding:
		return SeveritySign(t, e.Finding.Severity)
	case inspect.EventBackend:
		return BackendSign(t, e.Backend.State)
	}
	signs := map[inspect.EventKind]widget.Span{
		inspect.EventAcquired: {g.Holding, t.Holding},
		inspect.EventHandover: {g.Handover, t.Holding},
		inspect.EventWaiting:  {g.Waiting, t.Waiting},
		inspect.EventReleased: {g.Free, t.Muted},
		inspect.EventExpired:  {g.Expired, t.Warning},
		inspect.EventForced:   {g.Forced, t.Warning},
		inspect.EventCleared:  {g.Cleared, t.Holding},
		inspect.EventBlind:    {g.Warning, t.Warning},
		inspect.EventChanged:  {g.Warning, t.Warning},
		inspect.EventAppeared: {g.Came, t.Muted},
	}
	if sign, ok := signs[e.Kind]; ok {
		return sign
	}
	return widget.Span{g.Went, t.Muted}
}
