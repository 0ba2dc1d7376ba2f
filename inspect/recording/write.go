package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// writer writes a recording, each line by one call.
type writer struct{ w io.Writer }

// newWriter begins a recording.
func newWriter(w io.Writer, at time.Time) (writer, error) {
	first, err := json.Marshal(header{Recording: Version, At: at})
	if err != nil {
		return writer{}, fmt.Errorf("recording: %w", err)
	}
	own := writer{w}
	return own, own.line(first)
}

// write writes an update.
func (w writer) write(at time.Time, u inspect.Update) error {
	all, err := lines(at, u)
	for _, line := range all {
		if err == nil {
			err = w.line(line)
		}
	}
	return err
}

func (w writer) line(text []byte) error {
	if _, err := w.w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}
