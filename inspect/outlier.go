package inspect

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Outlier is a client with far more entries in locks than its peers. Peers have locks in the same
// directory or under the same key prefix. A service with a directory or prefix of its own has no
// peers.
type Outlier struct {
	// Owner is its best name. Session and Client are as in its entries.
	Owner   Untrusted
	Session int64
	Client  string
	// Under is the directory or prefix of its locks and its peers'. Entries counts its entries
	// there, and Holds those that hold.
	Under          string
	Entries, Holds int
	// Peers counts the other clients there. Usual is the third quartile of entries per client.
	Peers, Usual int
}

const (
	// minPeers is how many peers show the usual number. minEntries is the least number that is
	// reported.
	minPeers, minEntries = 10, 50
	// timesUsual is the multiple of the third quartile that is unusual. One client, or a few,
	// hardly move the quartile.
	timesUsual = 10
	// mostOutliers limits the reported outliers per backend.
	mostOutliers = 3
)

// findOutliers finds the clients with far more entries than their peers, by backend, largest
// first. Merely possible locks are not counted.
func findOutliers(locks iter.Seq[*Lock]) map[string][]Outlier {
	type place struct{ backend, under string }
	counts := make(map[place]map[Identity]*Outlier)
	for l := range locks {
		if l.Confidence == recipe.Possible {
			continue
		}
		at := place{l.ID.Backend, parentOf(l)}
		there := counts[at]
		for c := range l.Contenders {
			who, ok := partyOf(l, c)
			if !ok || c.Dead {
				continue
			}
			if there == nil {
				there = make(map[Identity]*Outlier)
				counts[at] = there
			}
			o := there[who.process()]
			if o == nil {
				o = &Outlier{Owner: c.Who(), Session: c.Owner.Session, Client: c.Owner.Client, Under: at.under}
				there[who.process()] = o
			}
			o.Entries++
			if c.State == Holding {
				o.Holds++
			}
		}
	}
	found := make(map[string][]Outlier)
	for at, there := range counts {
		found[at.backend] = append(found[at.backend], outliersAmong(there)...)
	}
	for backend, list := range found {
		slices.SortFunc(list, func(a, b Outlier) int {
			return cmp.Or(cmp.Compare(b.Entries, a.Entries), cmp.Compare(a.Under, b.Under),
				cmp.Compare(a.Session, b.Session), cmp.Compare(a.Owner, b.Owner))
		})
		found[backend] = list[:min(len(list), mostOutliers)]
	}
	return found
}

func outliersAmong(there map[Identity]*Outlier) []Outlier {
	peers := len(there) - 1
	if peers < minPeers {
		return nil
	}
	var entries []int
	for _, o := range there {
		entries = append(entries, o.Entries)
	}
	slices.Sort(entries)
	usual := entries[len(entries)*3/4]
	var found []Outlier
	for _, o := range there {
		if o.Entries >= minEntries && o.Entries >= timesUsual*usual {
			o.Peers, o.Usual = peers, usual
			found = append(found, *o)
		}
	}
	return found
}

// parentOf returns a ZooKeeper lock's directory, or the prefix of a Redis key up to the last
// colon, which may be empty.
func parentOf(l *Lock) string {
	if len(l.Masters) > 0 {
		return l.ID.Path[:strings.LastIndexByte(l.ID.Path, ':')+1]
	}
	if at := strings.LastIndexByte(l.ID.Path, '/'); at > 0 {
		return l.ID.Path[:at]
	}
	return "/"
}
