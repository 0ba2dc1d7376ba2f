package tui

import (
	"context"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// Ranks of a match, the best first.
const (
	sameText = iota
	startsText
	startsPart
	inText
	scattered
	noMatch
)

// matchText ranks a match; both are in lower case.
func matchText(text, typed string) int {
	at := strings.Index(text, typed)
	switch {
	case text == typed:
		return sameText
	case at == 0 || strings.HasSuffix(text, "/"+typed) || strings.HasSuffix(text, ":"+typed): // a lock's own name
		return startsText
	case at > 0 && strings.ContainsRune("/:-_. ", rune(text[at-1])):
		return startsPart
	case at > 0:
		return inText
	}
	for i := 0; i < len(text) && typed != ""; i++ {
		if text[i] == typed[0] {
			typed = typed[1:]
		}
	}
	if typed == "" {
		return scattered
	}
	return noMatch
}

// mostFound limits the locks that a search lists.
const mostFound = 200

// lockMatches holds the locks that a search lists, the best matches first, and the total number of
// matches.
type lockMatches struct {
	locks []match
	all   int
}

// match is a lock and how well it matches.
type match struct {
	id   inspect.ID
	well int
}

// findLocks searches all locks. It may take a while, and stops early when ctx ends.
func findLocks(ctx context.Context, s *inspect.Snapshot, typed string) lockMatches {
	typed = strings.ToLower(typed)
	var f lockMatches
	var by [noMatch][]match
	for l := range s.Locks() {
		if ctx.Err() != nil {
			break
		}
		well := matchText(strings.ToLower(l.ID.String()), typed)
		if path := matchText(strings.ToLower(inspect.Escape(l.ID.Path)), typed); path < well {
			well = path
		}
		if well == noMatch {
			continue
		}
		f.all++
		if len(by[well]) < mostFound {
			by[well] = append(by[well], match{l.ID, well})
		}
	}
	for _, list := range by {
		f.locks = append(f.locks, list...)
	}
	f.locks = f.locks[:min(len(f.locks), mostFound)]
	return f
}
