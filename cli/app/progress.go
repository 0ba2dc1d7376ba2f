package app

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// How soon a look shows its progress, and how often it updates it.
const (
	patience      = time.Second
	ProgressEvery = 200 * time.Millisecond
)

// observeOnce runs an observer for one pass. A long pass shows its progress if standard error is a
// terminal.
func (a *App) observeOnce(ctx context.Context, observer *inspect.Observer) error {
	line := a.NewProgressLine()
	if line == nil {
		return observer.Run(ctx)
	}
	defer line.Clear()
	done := make(chan error, 1)
	go func() { done <- observer.Run(ctx) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-timer.C:
			line.Show(progress(observer.Snapshot()))
			timer.Reset(ProgressEvery)
		}
	}
}

// progress describes the first pass so far, by backend.
func progress(s *inspect.Snapshot) string {
	var parts []string
	for _, b := range s.Backends {
		unit := "directories"
		if b.Kind == inspect.Redis {
			unit = "keys"
		}
		switch {
		case b.State == inspect.Down:
			parts = append(parts, b.Name+" down")
		case b.FirstPass:
			parts = append(parts, b.Name+" done")
		default:
			parts = append(parts, fmt.Sprintf("%s %d %s", b.Name, b.Scanned, unit))
		}
	}
	if len(parts) == 0 {
		return "connecting"
	}
	return fmt.Sprintf("%s so far (%s)", describe.Count(s.Len(), "lock"), strings.Join(parts, ", "))
}

// progressLine is a terminal line that is rewritten without escape sequences.
type progressLine struct {
	to    io.Writer
	width int
	shown int // cells
}

// NewProgressLine returns a line on standard error; nil if that is not a terminal.
func (a *App) NewProgressLine() *progressLine {
	width, ok := Terminal(a.Stderr)
	if !ok {
		return nil
	}
	return &progressLine{to: a.Stderr, width: width}
}

// Show replaces the line's text.
func (l *progressLine) Show(text string) {
	text = ansi.Truncate(text, l.width-1, "…")
	cells := ansi.StringWidth(text)
	fmt.Fprint(l.to, "\r"+text+strings.Repeat(" ", max(0, l.shown-cells)))
	l.shown = cells
}

// Clear empties the line.
func (l *progressLine) Clear() {
	if l.shown > 0 {
		fmt.Fprint(l.to, "\r"+strings.Repeat(" ", l.shown)+"\r")
		l.shown = 0
	}
}
