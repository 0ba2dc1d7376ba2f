package chain

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// newSearch moves the cursor to the rows with the typed words. It hides none, since a queue is
// read as a whole.
func newSearch(s *Screen) screen.FilterInput {
	i := screen.NewFilterInput(screen.NewWords)
	i.Move, i.Changed = s.toMatch, func() { s.toMatch(0) }
	return i
}

// Input returns the search in the queue.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

// toMatch moves the cursor to the next or previous match. With 0, it goes to the first match,
// unless it is already on one.
func (s *Screen) toMatch(by int) {
	matches := s.matches()
	if len(matches) == 0 {
		return
	}
	i, on := slices.BinarySearch(matches, s.Pane.list.At)
	switch {
	case by < 0:
		i--
	case by > 0 && on:
		i++
	case by == 0 && !on:
		i = 0
	}
	s.Pane.Move(matches[(i+len(matches))%len(matches)] - s.Pane.list.At)
}

// matches returns the indexes of the rows that contain the words.
func (s *Screen) matches() (at []int) {
	for i, r := range s.Pane.rows {
		if s.input.MatchText(r.words()...) {
			at = append(at, i)
		}
	}
	return at
}

// words returns the texts that the search looks at.
func (r chainRow) words() (words []string) {
	switch {
	case r.vote != nil:
		return []string{describe.Printable(r.vote.Addr), r.vote.Value.String()}
	case r.group != nil:
		for _, c := range r.group.members {
			words = append(words, chainRow{contender: c}.words()...)
		}
		return words
	}
	o := &r.contender.Owner
	return []string{
		describe.Owner(r.contender), describe.Client(o), o.Host.String(), r.contender.Name.String(),
		inspect.SessionID(o.Session),
	}
}

// searchLine shows the search and the number of matches; nil without a search.
func (s *Screen) searchLine(width int) widget.Line {
	t := s.Theme()
	found := widget.Line{{fmt.Sprintf("%d of %d found", len(s.matches()), len(s.Pane.rows)), t.Strong}}
	if l := s.input.Prompt(t, "words: name, client, host, session", found, width); l != nil || s.input.Text() == "" {
		return l
	}
	return widget.Spread(append(widget.Line{{" ", t.Text}}, s.input.View(t, width)...), found.Add(t.Text, " "), width,
		t.Glyphs.Ellipsis)
}
