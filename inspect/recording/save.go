package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"lockscope/inspect"
)

// Save writes updates with the times at which they were seen, the oldest first, as a recording that begins with the first. It
// fails when w does.
func Save(w io.Writer, updates iter.Seq2[time.Time, inspect.Update]) error {
	begun := false
	for at, u := range updates {
		if !begun {
			begun = true
			first, err := json.Marshal(header{Recording: Version, At: at})
			if err != nil {
				return fmt.Errorf("recording: %w", err)
			}
			if _, err := w.Write(append(first, '\n')); err != nil {
				return fmt.Errorf("recording: %w", err)
			}
		}
		all, err := lines(at, u)
		if err != nil {
			return err
		}
		for _, line := range all {
			if _, err := w.Write(append(line, '\n')); err != nil {
				return fmt.Errorf("recording: %w", err)
			}
		}
	}
	return nil
}

// Updates let an Observer see a past again, moment by moment.
func Updates(p *inspect.Past) iter.Seq2[time.Time, inspect.Update] {
	return func(yield func(time.Time, inspect.Update) bool) {
		var before *inspect.Snapshot
		for _, at := range p.Moments() {
			s, _ := p.At(at)
			if before != nil {
				for _, gap := range p.Gaps(before.TakenAt, at) {
					if !yield(at, inspect.Update{Gap: &gap}) {
						return
					}
				}
			}
			for _, u := range s.Since(before) {
				if !yield(at, u) {
					return
				}
			}
			before = s
		}
	}
}
