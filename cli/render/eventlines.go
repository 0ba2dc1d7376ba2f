package render

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// EventLines prints one line per event, as text or JSON.
type EventLines struct {
	To     *bufio.Writer
	JSON   bool
	Width  func() int // of a line, in cells; 0 means no limit
	column int        // the width of the column of names so far
}

// Print prints an event of a snapshot.
func (w *EventLines) Print(s *inspect.Snapshot, e inspect.Event) error {
	backend := e.Lock.Backend
	if e.Backend != nil {
		backend = e.Backend.Name
	}
	b := s.Backend(backend)
	if w.JSON {
		lines := json.NewEncoder(w.To)
		lines.SetEscapeHTML(false)
		return lines.Encode(jsonform.Event(e, b))
	}
	line := w.text(e, b.ClockOffset())
	if width := w.Width(); width > 0 {
		line = ansi.Truncate(line, width, "...")
	}
	_, err := w.To.WriteString(line + "\n")
	return err
}

// widestName limits the column of names, in cells.
const widestName = 40

// text returns an event as a line: local time, kind, lock, then owner or reason. offset is the
// backend's clock minus ours.
func (w *EventLines) text(e inspect.Event, offset time.Duration) string {
	name := e.Lock.String()
	if e.Lock == (inspect.ID{}) && e.Backend != nil {
		name = "backend " + e.Backend.Name
	}
	w.column = max(w.column, min(widestName, ansi.StringWidth(name)))
	line := e.At.Local().Format("15:04:05.000") + gap + pad(describe.EventKind(e.Kind),
		len(inspect.EventAppeared)) + gap + pad(name, w.column)
	return strings.TrimRight(line+gap+eventDetail(e, offset), " ")
}

func pad(text string, cells int) string {
	return text + strings.Repeat(" ", max(0, cells-ansi.StringWidth(text)))
}

// eventDetail describes the owner or the finding of an event.
func eventDetail(e inspect.Event, offset time.Duration) string {
	switch {
	case e.Finding != nil:
		return fmt.Sprintf("%s: %s: %s", e.Finding.Severity, e.Finding.Rule, describe.Printable(e.Finding.Message))
	case e.Kind == inspect.EventBlind:
		return describe.Blind(e.Between)
	case e.Change != nil:
		return describe.Change(e.Change)
	case e.Backend != nil && e.Backend.State == inspect.Connected:
		return fmt.Sprintf("%s, by %s", e.Backend.State, e.Backend.Mode)
	case e.Backend != nil:
		return fmt.Sprintf("%s: %s", e.Backend.State, describe.Failure(e.Backend))
	case e.Contender == nil:
		return ""
	case e.Kind == inspect.EventHandover:
		return contenderWords(e, offset) + ", after " + e.From().Cut(48)
	case e.Kind == inspect.EventGone:
		return contenderWords(e, offset) + ", who waited"
	default:
		return contenderWords(e, offset)
	}
}

// contenderWords names a contender and says how long it held the lock.
func contenderWords(e inspect.Event, offset time.Duration) string {
	c := e.Contender
	text := describe.Contender(c)
	if !e.Between.From.IsZero() {
		text += ", some time after " + describe.When(e.Between.From, e.At.Local())
	}
	switch e.Kind {
	case inspect.EventEnded:
		text += ": how is unknown"
	case inspect.EventReleased, inspect.EventExpired, inspect.EventForced:
		if !c.HeldSince.IsZero() {
			text += ", held " + describe.Span(e.At.Add(offset).Sub(c.HeldSince))
		}
		switch {
		case e.Kind != inspect.EventReleased || e.Certainty != recipe.Likely:
		case c.Owner.Session != 0:
			text += "; or its session expired"
		}
	}
	return text
}
