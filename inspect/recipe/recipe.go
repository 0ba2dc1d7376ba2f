// Package recipe knows how client libraries write their locks on a server: names, values and who blocks whom.
// It parses and builds them and does nothing else; it is a leaf that both the reading side (inspect) and the lock
// package (lockops) stand on. One file a library, one line each in the tables of this file.
package recipe

// Mode says whether a contender shares the lock with others.
type Mode uint8

// The modes of a contender.
const (
	Exclusive Mode = iota
	Shared
)

// Entry is one contender's znode, parsed.
type Entry struct {
	Name     string
	Sequence int32
	Mode     Mode
}

// Queue is how one library writes a lock as a directory of sequential znodes.
type Queue struct {
	// Name of the recipe as the command line and its JSON spell it.
	Name string
	// Certain: no other library writes names of this shape.
	Certain bool
	// Parse reads one child's name; false for a child that is not a contender of this recipe.
	Parse func(child string) (Entry, bool)
	// Prefix builds the name that an exclusive contender asks the server to number. guid is 32 lower-case hex
	// digits; recipes that have no place for it ignore it and report CarriesGUID false.
	Prefix      func(guid string) string
	CarriesGUID bool
	// Owner reads a contender's data: the host that the library wrote by itself, the label that its user chose.
	Owner func(data []byte) (host, label string)
	// readerWatches is the write before a reader that the reader watches.
	readerWatches writer
}

func labelOnly(data []byte) (host, label string) { return "", string(data) }

type writer uint8

const (
	nearestWrite writer = iota // kazoo, madelson, the ZooKeeper recipes page
	firstWrite                 // Curator
)

// Queues are the recipes of queues in the order in which a directory is asked about them: the surest first.
func Queues() []Queue {
	return []Queue{curator(), kazoo(), goZooKeeper(), sequential()}
}

// QueueByName finds a recipe of a queue; false for a name that is none.
func QueueByName(name string) (Queue, bool) {
	for _, q := range Queues() {
		if q.Name == name {
			return q, true
		}
	}
	return Queue{}, false
}

// Detect says which recipe wrote most of these children; false when none is a contender of any. At equal counts
// the earlier recipe in Queues wins.
func Detect(children []string) (Queue, bool) {
	var best Queue
	most := 0
	counted := make(map[string]bool, len(children))
	for _, q := range Queues() {
		n := 0
		for _, c := range children {
			if counted[c] {
				continue
			}
			if _, ok := q.Parse(c); ok {
				counted[c] = true
				n++
			}
		}
		if n > most {
			best, most = q, n
		}
	}
	return best, most > 0
}

// Entries parses the children that are contenders, by this recipe or, since every queue client orders what it can
// parse, by any other, and returns them in queue order. Other children are left out.
func (q Queue) Entries(children []string) []Entry {
	others := Queues()
	var entries []Entry
	for _, c := range children {
		if e, ok := q.Parse(c); ok {
			entries = append(entries, e)
			continue
		}
		for _, o := range others {
			if e, ok := o.Parse(c); ok {
				entries = append(entries, e)
				break
			}
		}
	}
	Sort(entries)
	return entries
}

// Blocker is the index of the entry that entry i waits for, which is the one it watches by this recipe's rule;
// -1 when nothing before i blocks it, so that i holds the lock. Entries must be in queue order.
func (q Queue) Blocker(entries []Entry, i int) int {
	if entries[i].Mode == Exclusive {
		return i - 1
	}
	found := -1
	for j := range i {
		if entries[j].Mode == Exclusive {
			found = j
			if q.readerWatches == firstWrite {
				break
			}
		}
	}
	return found
}

// Blocks counts for every entry the entries that cannot be granted before it leaves, directly or through others.
// An exclusive entry blocks all behind it; a shared one the next exclusive entry and all behind that.
func Blocks(entries []Entry) []int {
	blocked := make([]int, len(entries))
	fromWrite := 0 // how many entries stand at or behind the next exclusive one
	for i := len(entries) - 1; i >= 0; i-- {
		behind := len(entries) - 1 - i
		if entries[i].Mode == Exclusive {
			blocked[i] = behind
			fromWrite = behind + 1
		} else {
			blocked[i] = fromWrite
		}
	}
	return blocked
}
