package redissource

import (
	"cmp"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// sought describes the patterns of the scan and the number of keys it covers.
func (r *run) sought() inspect.Sought {
	s := inspect.Sought{For: r.cfg.soughtPatterns(), Database: r.cfg.Masters[0].DB}
	most := map[int]int{} // keys by database, on the master with the most
	for _, p := range r.masters {
		if p.scanned >= 0 {
			s.Counted = true
			s.Among = r.overMasters(s.Among, p.scanned)
		}
		for _, d := range p.databases {
			most[d.Index] = max(most[d.Index], d.Keys)
		}
	}
	for index, keys := range most {
		if index != s.Database && keys > 0 {
			s.Elsewhere = append(s.Elsewhere, inspect.Database{Index: index, Keys: keys})
		}
	}
	slices.SortFunc(s.Elsewhere, func(a, b inspect.Database) int { return cmp.Compare(a.Index, b.Index) })
	return s
}

// overMasters combines key counts: the sum for a cluster, the maximum for independent masters,
// which may hold the same keys.
func (r *run) overMasters(sum, keys int) int {
	if r.cluster != nil {
		return sum + keys
	}
	return max(sum, keys)
}

// soughtPatterns returns the patterns as a user would write them; none if only one key is read.
func (c Config) soughtPatterns() []string {
	switch {
	case c.Only != "":
		return nil
	case c.explicit:
		return slices.Clone(c.Match)
	}
	return slices.Concat([]string{"*lock*", "*mutex*", "*semaphore*"}, c.patterns()[len(recipe.GenericPatterns()):])
}
