package tui

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// framesPerSecond is the beat at which Bubble Tea draws while much changes, the fastest that it offers.
const framesPerSecond = 120

// The beats of drawing: while much changes, for the first frame after a rest, and at rest, where a beat finds something to draw only if
// the program was held up for longer than the beats that follow a change.
const (
	steadily = time.Second / framesPerSecond
	soon     = 2 * time.Millisecond
	atRest   = 200 * time.Millisecond
)

// beatsAfter a change the next rest begins.
const beatsAfter = 5

// frameBeat lets Bubble Tea's renderer rest while nothing is drawn anew, and draw soon after that. By itself it wakes at each beat, whether
// something has changed or not: 120 times a second are up to 1.9 % of a core. https://github.com/charmbracelet/bubbletea/pull/1776 would
// end that; until then its ticker, which is not public, is slowed down. A version without one beats as by itself.
type frameBeat struct {
	program *tea.Program

	mu      sync.Mutex
	ticker  *time.Ticker // nil before the program runs
	every   time.Duration
	changes int
	rest    *time.Timer
}

func newFrameBeat(p *tea.Program) *frameBeat { return &frameBeat{program: p, every: steadily} }

// change has what Bubble Tea is about to be given drawn soon. Its event loop calls it, by View, and has made the ticker by then.
func (f *frameBeat) change() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ticker == nil {
		f.ticker = tickerOf(f.program)
	}
	switch f.every {
	case atRest:
		f.beat(soon)
	case soon: // more follows
		f.beat(steadily)
	}
	if f.rest != nil {
		f.rest.Stop()
	}
	f.changes++
	last := f.changes
	f.rest = time.AfterFunc(beatsAfter*f.every, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.changes == last {
			f.beat(atRest)
		}
	})
}

// beat changes the beat. mu is held.
func (f *frameBeat) beat(every time.Duration) {
	f.every = every
	if f.ticker != nil {
		f.ticker.Reset(every)
	}
}

// tickerOf is that of a program which runs; nil where it has none.
func tickerOf(p *tea.Program) *time.Ticker {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return (*time.Ticker)(field.UnsafePointer())
}
