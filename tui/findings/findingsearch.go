package findings

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// findingsSoughtMsg is a search that ran in the background.
type findingsSoughtMsg struct {
	number int
	found  *findingSearch
}

// finder searches the findings, in a command if there are many. The previous results stay until
// it answers.
type finder struct {
	number int // of the newest search, so that a late one is dropped
	cancel context.CancelFunc
}

// search shows only the findings that have all the words of the filter.
func (s *Screen) search() {
	s.moved = s.moved || s.input.Text() != "" && s.Chosen != nil
	s.finder.number++
	if s.finder.cancel != nil {
		s.finder.cancel()
		s.finder.cancel = nil
	}
	search := s.Index.StartSearch(s.input.Filter)
	if len(search.all) <= screen.AtOnce {
		s.Index.SettleSearch(search)
		s.follow()
		return
	}
	ctx, cancel := context.WithCancel(s.Lifetime())
	s.finder.cancel = cancel
	number := s.finder.number
	s.Later(s.Request(screen.Findings, 0, func(context.Context) tea.Msg {
		defer cancel()
		search.Run(ctx)
		return findingsSoughtMsg{number, search}
	}))
}

// sought shows a search's result, unless a newer search has begun.
func (s *Screen) sought(msg findingsSoughtMsg) {
	if msg.number == s.finder.number {
		s.Index.SettleSearch(msg.found)
		s.follow()
	}
}

// foundText is the lower-case text that filters search, made on first use.
type foundText struct {
	of   *inspect.Finding
	text string
}

// findingSearch has a search's input and its result, separate from the index, which may change
// meanwhile.
type findingSearch struct {
	words   screen.Filter
	all     []*found
	sources []*inspect.Finding // the source of each finding when the search began
	matches []bool
}

// StartSearch collects the findings to search.
func (x *findingIndex) StartSearch(words screen.Filter) *findingSearch {
	q := &findingSearch{words: words}
	if words.Empty() {
		return q // everything matches
	}
	n := x.len()
	q.all, q.sources = make([]*found, 0, n), make([]*inspect.Finding, 0, n)
	for _, g := range x.groups {
		for _, f := range g.all {
			q.all, q.sources = append(q.all, f), append(q.sources, f.source)
		}
	}
	return q
}

// Run searches the collected findings. The index may change meanwhile.
func (q *findingSearch) Run(ctx context.Context) {
	q.matches = make([]bool, len(q.all))
	for i, f := range q.all {
		if i%1000 == 0 && ctx.Err() != nil {
			return
		}
		q.matches[i] = f.matches(q.words, q.sources[i])
	}
}

// SettleSearch shows a search's result, and searches the findings that have changed since it began.
func (x *findingIndex) SettleSearch(q *findingSearch) {
	x.words = q.words
	x.searched++
	for i, f := range q.all {
		if i < len(q.matches) && f.source == q.sources[i] {
			f.match, f.searched = q.matches[i], x.searched
		}
	}
	for _, g := range x.groups {
		for _, f := range g.all {
			if f.searched != x.searched {
				f.match, f.searched = f.matches(q.words, f.source), x.searched
			}
		}
		g.show(q.words.Empty())
	}
	x.sort()
}

// len counts the findings, shown or not.
func (x *findingIndex) len() int {
	n := 0
	for _, g := range x.groups {
		n += len(g.all)
	}
	return n
}

// matches reports whether a finding made from source has all the words. It reads immutable fields.
func (f *found) matches(words screen.Filter, source *inspect.Finding) bool {
	if words.Empty() {
		return true
	}
	known := f.text.Load()
	if known == nil || known.of != source {
		parts := append([]string{source.Rule, string(source.Severity), f.Place(), source.Message}, f.cycle...)
		known = &foundText{source, strings.ToLower(strings.Join(parts, "\n"))}
		f.text.Store(known)
	}
	return words.MatchText(known.text)
}
