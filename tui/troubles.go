package tui

import (
	"fmt"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/widget"
)

// recovery is a backend's return to Connected, from its state before.
type recovery struct {
	from inspect.BackendState
	at   time.Time
}

// recoveryShown keeps the line about a backend once it is well, so that the rows below it do not jump at each change.
const recoveryShown = 5 * time.Second

func unhealthy(b *inspect.Backend) bool {
	return b.State == inspect.Degraded || b.State == inspect.Down
}

// noteRecoveries notes which backends are well in a new snapshot and were not in the one before.
func (m *Model) noteRecoveries(s *inspect.Snapshot) {
	for _, was := range m.snapshot.Backends {
		if is := s.Backend(was.Name); is != nil && unhealthy(was) && !unhealthy(is) {
			m.recovered[was.Name] = recovery{was.State, m.options.now()}
		}
	}
}

// troubles has a line for each backend that is not well, so that none hides another, or was not until a moment ago.
func (m *Model) troubles() []string {
	t := m.theme
	var lines []string
	put := func(style lipgloss.Style, glyph, what, why string) {
		l := widget.Line{{" " + glyph + " " + what, style}, {"  " + why, t.Text}}
		lines = append(lines, l.Render(m.width, t.Glyphs.Ellipsis, nil))
	}
	if m.feedError != nil {
		put(t.Warning, t.Glyphs.Warning, "no more updates:", describe.Printable(m.feedError.Error()))
	}
	for _, b := range m.snapshot.Backends {
		switch b.State {
		case inspect.Degraded:
			put(t.Warning, t.Glyphs.Pending, describe.Printable(b.Name)+" degraded", describe.Trouble(b))
		case inspect.Down:
			put(t.Critical, t.Glyphs.Critical, describe.Printable(b.Name)+" down", describe.Trouble(b))
		default:
			if r, ok := m.recovered[b.Name]; ok && m.now.Sub(r.at) < recoveryShown {
				put(t.Muted, t.Glyphs.Cleared, fmt.Sprintf("%s was %s until %s", describe.Printable(b.Name), r.from, r.at.Format(time.TimeOnly)), "")
			}
		}
	}
	if most := 4; len(lines) > most {
		rest := len(lines) - most + 1
		lines = lines[:most-1]
		put(t.Warning, t.Glyphs.Warning, fmt.Sprintf("%d more backends in trouble", rest), "")
	}
	return lines
}
