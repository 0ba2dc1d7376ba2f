package redissource

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// naming interprets the name of a key.
type naming struct {
	only string
	// operator matches the keys that the operator names. library matches those that a recipe names; else only the
	// generic words may have found a key.
	operator, library node.Matcher
	// explicit: the operator gave the patterns, so that every match is listed.
	explicit bool
}

func newNaming(cfg Config) naming {
	if cfg.explicit {
		return naming{
			only: cfg.Only, explicit: true,
			operator: node.NewMatcher(slices.DeleteFunc(slices.Clone(cfg.Match), matchesAll), nil),
		}
	}
	return naming{
		only: cfg.Only, operator: node.NewMatcher(nil, cfg.Custom),
		library: node.NewMatcher(recipe.RedisPatterns()[len(recipe.GenericPatterns()):], nil),
	}
}

// matchesAll reports whether a pattern asks for every key, and so names none.
func matchesAll(pattern string) bool { return strings.Trim(pattern, "*?") == "" }

// byOperator reports whether the operator names the key: then it counts as a lock.
func (n naming) byOperator(key string) bool { return key == n.only || n.operator.Any(key) }

// names reports whether the operator names a lock. Asking for one key makes no lock of a counter or a flag.
func (n naming) names(l *inspect.Lock) bool {
	nameless := len(l.Holders) == 1 && l.Holders[0].Nameless()
	return n.operator.Any(l.ID.Path) || n.byOperator(l.ID.Path) && !nameless
}

// mayBe reports whether a key is listed. One that only the generic words found, such as block:7, is a lock by its
// value or not at all; while its value is unknown, it is unknown.
func (n naming) mayBe(l *inspect.Lock) bool {
	key := l.ID.Path
	if l.Confidence != recipe.Possible || n.explicit || len(l.Unseen) > 0 {
		return true
	}
	return recipe.NamesLock(key) || n.byOperator(key) || n.library.Any(key)
}
