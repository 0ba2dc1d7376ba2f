package locks

import "github.com/lockscope/lockscope/inspect"

// tableLine is a line of the table of locks: a group's head, or a lock.
type tableLine struct {
	Group *lockGroup // set for a group's head; nil for a lock
	Row   *row
	// inside is set if the lock is below its group's head.
	inside bool
}

// Selection is a lock or, without one, a group; the cursor follows it.
type Selection struct {
	Lock  inspect.ID
	group Prefix
}

func (e tableLine) Selection() Selection {
	switch {
	case e.Group != nil:
		return Selection{group: e.Group.Prefix}
	case e.Row != nil:
		return Selection{Lock: e.Row.ID}
	default:
		return Selection{}
	}
}

// Lines is the number of lines with these groups open.
func (x *Index) Lines(open map[Prefix]bool) int {
	if !x.Grouped && x.pinned != nil {
		return x.flat.count + 1
	}
	if !x.Grouped {
		return x.flat.count
	}
	n := x.list.count
	for p := range open {
		if g := x.groups[p]; g != nil && !g.single() {
			n += g.rows.count
		}
	}
	return n
}

// Slice returns up to n lines.
func (x *Index) Slice(open map[Prefix]bool, from, n int) []tableLine {
	var out []tableLine
	if !x.Grouped {
		for _, r := range x.rowsFrom(from, n) {
			out = append(out, tableLine{Row: r})
		}
		return out
	}
	line := 0
	for _, page := range x.list.pages {
		for _, g := range page {
			if len(out) >= n {
				return out
			}
			switch {
			case line < from:
			case g.single():
				out = append(out, tableLine{Row: g.rows.slice(0, 1)[0]})
			default:
				out = append(out, tableLine{Group: g})
			}
			line++
			if !open[g.Prefix] || g.single() {
				continue
			}
			for _, r := range g.rows.slice(max(0, from-line), max(0, n-len(out))) {
				out = append(out, tableLine{Row: r, inside: true})
			}
			line += g.rows.count
		}
	}
	return out
}

// Line is the line of an item, from 0, or of its closed group; -1 if it is not shown.
func (x *Index) Line(open map[Prefix]bool, t Selection) int {
	r, pinned := x.at(t.Lock), x.pinnedLine()
	switch {
	case pinned >= 0 && x.pinned.ID == t.Lock:
		return pinned
	case t.Lock != (inspect.ID{}) && (r == nil || !r.placed):
		return -1
	case !x.Grouped && r == nil:
		return -1
	case !x.Grouped:
		at := x.flat.place(r)
		if pinned >= 0 && at >= pinned {
			at++
		}
		return at
	case r == nil:
		return x.head(open, t.group)
	}
	p := prefixOf(t.Lock)
	at := x.head(open, p)
	if at >= 0 && open[p] && !x.groups[p].single() {
		at += 1 + x.groups[p].rows.place(r)
	}
	return at
}

// head is the line of a group's head; -1 if there is no such group.
func (x *Index) head(open map[Prefix]bool, p Prefix) int {
	if x.groups[p] == nil {
		return -1
	}
	at := 0
	for _, page := range x.list.pages {
		for _, g := range page {
			if g.Prefix == p {
				return at
			}
			at++
			if open[g.Prefix] && !g.single() {
				at += g.rows.count
			}
		}
	}
	return -1
}
