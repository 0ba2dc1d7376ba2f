package recording

import (
	"io"
	"iter"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Save writes updates with the times at which they were seen, the oldest first, as a recording that begins
// with the first. It fails when w does.
func Save(w io.Writer, updates iter.Seq2[time.Time, inspect.Update]) error {
	var to *writer
	for at, u := range updates {
		if to == nil {
			var err error
			if to, err = newWriter(w, at); err != nil {
				return err
			}
		}
		if err := to.write(at, u); err != nil {
			return err
		}
	}
	return nil
}

// Updates replays a past moment by moment, so that an Observer can see it again.
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
