package redissource

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// naming decides from a key's name whether it may be a lock.
type naming struct {
	only string
	// operator matches the keys that the operator names, library those that a recipe names. Other
	// keys were only found by generic words.
	operator, library node.Matcher
	// explicit is set if the operator gave the patterns; then every match is listed.
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

// matchesAll reports whether a pattern matches every key, and so names none.
func matchesAll(pattern string) bool { return strings.Trim(pattern, "*?") == "" }

// byOperator reports whether the operator named the key; then it counts as a lock.
func (n naming) byOperator(key string) bool { return key == n.only || n.operator.Any(key) }

// names reports whether the operator named a lock. Asking for a single key does not make a
// counter or a flag a lock.
func (n naming) names(l *inspect.Lock) bool {
	nameless := len(l.Holders) == 1 && l.Holders[0].Nameless()
	return n.operator.Any(l.ID.Path) || n.byOperator(l.ID.Path) && !nameless
}

// mayBe reports whether a key is listed. A key found only by generic words, such as block:7, is
// judged by its value. Until the value has been read, it is listed as unknown.
func (n naming) mayBe(l *inspect.Lock) bool {
	key := l.ID.Path
	if l.Confidence != recipe.Possible || n.explicit || len(l.Unseen) > 0 {
		return true
	}
	return recipe.NamesLock(key) || n.byOperator(key) || n.library.Any(key)
}
