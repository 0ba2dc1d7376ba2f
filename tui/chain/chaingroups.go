package chain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// grouped is the least number of consecutive readers that collapse into one row.
const grouped = 4

// group is a row for several contenders.
type group struct {
	key     string
	members []*inspect.Contender
	open    bool
}

// fold collapses consecutive readers in the same state into one row. The groups in opened also
// show their members.
func fold(rows []chainRow, opened map[string]bool) []chainRow {
	var out []chainRow
	behind := ""
	for i := 0; i < len(rows); {
		n := readersFrom(rows[i:])
		if n < grouped {
			if c := rows[i].contender; c != nil {
				behind = c.Name.Raw()
			}
			out = append(out, rows[i])
			i++
			continue
		}
		g := &group{key: "readers behind " + behind}
		g.open = opened[g.key]
		for _, r := range rows[i : i+n] {
			g.members = append(g.members, r.contender)
		}
		out = append(out, chainRow{group: g, prefix: rows[i+n-1].prefix})
		if g.open {
			for _, r := range rows[i : i+n] {
				r.within, r.prefix = g, strings.Repeat(" ", len([]rune(r.prefix)))+" "
				out = append(out, r)
			}
		}
		behind = g.members[n-1].Name.Raw()
		i += n
	}
	return out
}

// readersFrom counts the readers in the same state at the start of rows.
func readersFrom(rows []chainRow) int {
	for i, r := range rows {
		if r.contender == nil || r.contender.Mode != recipe.Shared || r.contender.State != rows[0].contender.State {
			return i
		}
	}
	return len(rows)
}

// selectedGroup returns the group at the cursor, or around it; nil if none.
func (p *Pane) selectedGroup() *group {
	switch {
	case p.list.At >= len(p.rows):
		return nil
	case p.onGroup():
		return p.rows[p.list.At].group
	default:
		return p.rows[p.list.At].within
	}
}

func (p *Pane) onGroup() bool {
	return p.list.At < len(p.rows) && p.rows[p.list.At].group != nil
}

// toggle opens or closes the group at the cursor; false if none.
func (p *Pane) toggle() bool {
	if !p.onGroup() {
		return false
	}
	g := p.rows[p.list.At].group
	p.opened[g.key] = !g.open
	p.refresh()
	return true
}

// closeGroup closes the group at or around the cursor, and selects it; false if none is open
// there.
func (p *Pane) closeGroup() bool {
	g := p.selectedGroup()
	if g == nil || !g.open {
		return false
	}
	p.opened[g.key] = false
	p.selected = chainRow{group: g}.key()
	p.refresh()
	return true
}

// find returns the index of a row by its key, or that of the group it is in now; -1 without
// either.
func (p *Pane) find(key string) int {
	if at := slices.IndexFunc(p.rows, func(r chainRow) bool { return r.key() == key }); at >= 0 {
		return at
	}
	return slices.IndexFunc(p.rows, func(r chainRow) bool {
		return r.group != nil && slices.ContainsFunc(r.group.members, func(c *inspect.Contender) bool {
			return chainRow{contender: c}.key() == key
		})
	})
}

func (p *Pane) groupTitle(g *group) widget.Line {
	t := p.Theme()
	sign := t.Glyphs.Closed
	if g.open {
		sign = t.Glyphs.Opened
	}
	return widget.Line{{sign + " ", t.Key}, {fmt.Sprintf("%d readers", len(g.members)), t.Strong}}
}

// oldest returns how long the group's first member has been in the queue; false if unknown.
func (g *group) oldest(v describe.View, l *inspect.Lock) (inspect.Age, bool) {
	oldest := g.members[0]
	for _, c := range g.members {
		if !c.Since.IsZero() && (oldest.Since.IsZero() || c.Since.Before(oldest.Since)) {
			oldest = c
		}
	}
	return v.Since(l, oldest)
}

// groupCells returns a group's cells in the queue's columns. They show the problems of all its
// members.
func (p *Pane) groupCells(l *inspect.Lock, r chainRow) []widget.Line {
	t, g := p.Theme(), r.group
	dash := widget.Line{{t.Glyphs.Dash, t.Faint}}
	first := g.members[0]
	number, since, blocks := dash, dash, dash
	if first.Sequential {
		number = widget.Line{{fmt.Sprint(first.Sequence), t.Text}}
	}
	if d, ok := g.oldest(p.ages(l), l); ok {
		since = ageCell(t, d)
	}
	most := 0
	for _, c := range g.members {
		most = max(most, int(c.BlockedBelow))
	}
	if most > 0 {
		blocks = widget.Line{{fmt.Sprint(most), t.Text}}
	}
	mark, word := screen.ContenderSign(t, first)
	if first.State == inspect.Holding {
		word = "hold"
	} else {
		word = strings.TrimSuffix(word, "s")
	}
	state := widget.Line{{r.prefix, t.Faint}, mark, {" " + word, mark.Style}}
	return []widget.Line{
		number, state, screen.ModeCell(t, first), p.groupTitle(g), nil, nil, since, blocks, p.groupWatch(l, g),
	}
}

// groupWatch summarises the watches of a group's members. A missing watch takes precedence.
func (p *Pane) groupWatch(l *inspect.Lock, g *group) widget.Line {
	t := p.Theme()
	missing, same := 0, true
	for _, c := range g.members {
		if c.Watch == inspect.Missing {
			missing++
		}
		same = same && c.Watches == g.members[0].Watches && c.Watch == g.members[0].Watch
	}
	switch {
	case missing > 0:
		return widget.Line{{fmt.Sprintf("%s %d not", t.Glyphs.WatchMissing, missing), t.Critical}}
	case same:
		return p.watchCell(l, g.members[0])
	default:
		return widget.Line{{t.Glyphs.WatchExpected, t.Muted}}
	}
}

// redisGroup draws a group of holders or waiters of a Redis lock.
func (p *Pane) redisGroup(r chainRow) widget.Line {
	t := p.Theme()
	mark, word := screen.ContenderSign(t, r.group.members[0])
	state := widget.Line{{r.prefix, t.Faint}, mark, {" " + strings.TrimSuffix(word, "s"), mark.Style}}
	state = state.Align(stateOfRedis, false, "")
	out := append(append(state, widget.Span{Text: "  "}), p.groupTitle(r.group)...)
	dead := 0
	for _, c := range r.group.members {
		if c.Dead {
			dead++
		}
	}
	if dead > 0 {
		out = out.Add(t.Critical, fmt.Sprintf("  gone? %d of them", dead))
	}
	return out
}

// groupDetails names the members of a group.
func (p *Pane) groupDetails(l *inspect.Lock, g *group) []widget.Line {
	t := p.Theme()
	s, _ := screen.ContenderSign(t, g.members[0])
	var names []string
	for _, c := range g.members {
		names = append(names, describe.Owner(c))
	}
	how := "enter opens the group"
	if g.open {
		how = "enter closes the group"
	}
	var since string
	if d, ok := g.oldest(p.ages(l), l); ok {
		since = "the first in the queue for " + describe.Signed(d)
	}
	lines := p.facts(widget.Span{s.Text + " ", s.Style}, fmt.Sprintf("%d readers", len(g.members)), since, how)
	for _, text := range widget.Wrap(strings.Join(names, ", "), p.width-4, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{"   " + text, t.Muted}})
	}
	return lines
}
