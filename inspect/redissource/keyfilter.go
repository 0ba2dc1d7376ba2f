package redissource

import (
	"slices"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
)

// wanted returns the filter for pushed keys.
func (r *run) wanted() func(key string) bool {
	if r.cfg.Only != "" {
		return func(key string) bool {
			_, locks, _ := recipe.LockOf(key)
			return key == r.cfg.Only || slices.Contains(locks, r.cfg.Only)
		}
	}
	match := r.cfg.matcher().Any
	return func(key string) bool {
		_, locks, helper := recipe.LockOf(key)
		return !helper && match(key) || len(locks) > 0 && (match(key) || slices.ContainsFunc(locks, match))
	}
}

// trackedPatterns are the patterns of the pushed keys.
func (r *run) trackedPatterns() []string {
	if r.cfg.Only != "" {
		only := []string{node.GlobEscape.Replace(r.cfg.Only)}
		return slices.Concat(only, recipe.HelperPatterns(only))
	}
	return slices.Concat(r.cfg.patterns(), recipe.HelperPatterns(r.cfg.Match))
}
