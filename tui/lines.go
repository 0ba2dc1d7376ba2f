package tui

import "lockscope/inspect"

// tableLine is a line of the table of locks: a group's head, or a lock.
type tableLine struct {
	group *lockGroup // of which it is the head; nil for a lock
	row   *row
	// inside: the lock stands below its group's head.
	inside bool
}

// thing is what the cursor is on, whatever line that is: a lock or, without one, a group.
type thing struct {
	lock  inspect.ID
	group prefix
}

func (e tableLine) thing() thing {
	switch {
	case e.group != nil:
		return thing{group: e.group.prefix}
	case e.row != nil:
		return thing{lock: e.row.lock.ID}
	default:
		return thing{}
	}
}

// lines is the number of lines, with these groups open.
func (x *index) lines(open map[prefix]bool) int {
	if !x.grouped {
		return x.flat.count
	}
	n := x.list.count
	for p := range open {
		if g := x.groups[p]; g != nil {
			n += g.rows.count
		}
	}
	return n
}

// slice is up to n lines from one on.
func (x *index) slice(open map[prefix]bool, from, n int) []tableLine {
	var out []tableLine
	if !x.grouped {
		for _, r := range x.flat.slice(from, n) {
			out = append(out, tableLine{row: r})
		}
		return out
	}
	line := 0
	for _, page := range x.list.pages {
		for _, g := range page {
			if len(out) >= n {
				return out
			}
			if line >= from {
				out = append(out, tableLine{group: g})
			}
			line++
			if !open[g.prefix] {
				continue
			}
			for _, r := range g.rows.slice(max(0, from-line), max(0, n-len(out))) {
				out = append(out, tableLine{row: r, inside: true})
			}
			line += g.rows.count
		}
	}
	return out
}

// line is where a thing stands; that of its group where that is closed, -1 when it is not shown.
func (x *index) line(open map[prefix]bool, t thing) int {
	r := x.rows[t.lock]
	switch {
	case t.lock != (inspect.ID{}) && (r == nil || !r.shown):
		return -1
	case !x.grouped && r == nil:
		return -1
	case !x.grouped:
		return x.flat.place(r)
	case r == nil:
		return x.head(open, t.group)
	}
	p := prefixOf(t.lock)
	at := x.head(open, p)
	if at >= 0 && open[p] {
		at += 1 + x.groups[p].rows.place(r)
	}
	return at
}

// head is the line of a group's head; -1 when there is no such group.
func (x *index) head(open map[prefix]bool, p prefix) int {
	if x.groups[p] == nil {
		return -1
	}
	at := 0
	for _, page := range x.list.pages {
		for _, g := range page {
			if g.prefix == p {
				return at
			}
			at++
			if open[g.prefix] {
				at += g.rows.count
			}
		}
	}
	return -1
}
