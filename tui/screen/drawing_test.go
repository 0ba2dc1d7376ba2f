package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
)

// The longest queue includes the present one: the cells of a trend are averages of half a minute.
func TestPeakIncludesThePresent(t *testing.T) {
	trend := inspect.Trend{Waiting: []float64{9, 0, 1.2}}
	must.Equal(t, Peak(trend, 2, 5), ", max 5")
	must.Equal(t, Peak(trend, 2, 0), ", max 2")
	must.Equal(t, Peak(trend, 3, 5), ", max 9")
	must.Equal(t, Peak(inspect.Trend{}, 3, 0), "")
}

// An invisible queue looks different from an empty one, and waiters are higher than a lone holder.
func TestPulse(t *testing.T) {
	trend := inspect.Trend{Waiting: []float64{-1, 0, 0, 0.1, 1, 4, 8}, Holding: []float64{-1, 0, 1, 1, 1, 1, 1}}
	for _, test := range []struct {
		options theme.Options
		want    string
	}{{theme.Options{}, " ·▁▂▂▅█"}, {theme.Options{ASCII: true}, " ._--=#"}} {
		th := theme.New(test.options)
		must.Equal(t, Pulse(th, trend, 7).Text(), test.want)
	}
	must.Equal(t, Pulse(theme.New(theme.Options{}), trend, 2).Text(), "▅█", "the last two are")
}

// A disabled key is dim, and is the first to be left out if space is short.
func TestHintsOfDisabledKeys(t *testing.T) {
	th := theme.New(theme.Options{})
	off := func() string { return "not now" }
	list := []Action{
		{Shown: "a", Hint: "first"}, {Shown: "b", Hint: "second", Disabled: off}, {Shown: "c", Hint: "third"}, {Shown: "d", Hint: "4th", Disabled: off},
	}
	for room, want := range map[int]string{
		100: " a first  b second  c third  d 4th ",
		28:  " a first  b second  c third ",
		27:  " a first  c third  d 4th ",
		18:  " a first  c third ",
		17:  " a first ",
		5:   "",
	} {
		must.Equal(t, HintLine(th, list, room).Text(), want, room, "cells")
	}
	for _, s := range HintLine(th, list, 100) {
		text := strings.TrimSpace(s.Text)
		must.Equal(t, slices.Contains([]string{"b", "second", "d", "4th"}, text), s.Style == th.Faint, text, "is dim")
	}
}
