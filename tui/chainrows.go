package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
	"lockscope/theme"
)

// tree makes the rows of a queue in its order, each behind the one that it waits for.
func tree(holders, waiters []inspect.Contender, branch, lastBranch string) []chainRow {
	rows := make([]chainRow, 0, len(holders)+len(waiters))
	depth := make(map[inspect.Untrusted]int, cap(rows))
	for i := range holders {
		rows = append(rows, chainRow{contender: &holders[i]})
		depth[holders[i].Name] = 0
	}
	for i := range waiters {
		c := &waiters[i]
		d := 1
		if before, ok := depth[c.Watches]; ok && c.Watches != "" {
			d = before + 1
		}
		depth[c.Name] = d
		sign := lastBranch
		if i+1 < len(waiters) && waiters[i+1].Watches == c.Watches && c.Watches != "" {
			sign = branch
		}
		rows = append(rows, chainRow{contender: c, prefix: strings.Repeat(" ", min(d, deepest)-1) + sign})
	}
	return rows
}

// table has the columns that this lock's rows need, and what makes a row.
func (p *chainPane) table(l *inspect.Lock) ([]column, func(chainRow) line) {
	columns := queueColumns(l)
	if len(l.Masters) > 0 {
		columns = p.masterColumns(l)
	}
	widths := lay(columns, p.width-margin-1)
	return columns, func(r chainRow) line {
		switch {
		case r.vote != nil:
			return join(columns, widths, p.masterCells(l, r.vote, widths[ttlOfMaster]), p.Theme().Glyphs.Ellipsis)
		case len(l.Masters) > 0 && r.group != nil:
			return p.redisGroup(r)
		case len(l.Masters) > 0:
			return p.redisContender(l, r)
		case r.group != nil:
			return join(columns, widths, p.groupCells(l, r), p.Theme().Glyphs.Ellipsis)
		default:
			return join(columns, widths, p.queueCells(l, r), p.Theme().Glyphs.Ellipsis)
		}
	}
}

// list draws the rows in sight; what is above and below them is told in the first and the last line.
func (p *chainPane) list(l *inspect.Lock, row func(chainRow) line, room int) []line {
	t := p.Theme()
	p.top = max(0, min(p.top, len(p.rows)-room))
	p.top = max(min(p.top, p.cursor), p.cursor-room+1)
	var lines []line
	for i := p.top; i < min(len(p.rows), p.top+room); i++ {
		out := line{{"   ", t.Text}}
		over := p.highlight(l, p.rows[i])
		if i == p.cursor {
			out = line{{t.Glyphs.Cursor + "  ", t.Holding}}
			over = t.Selected
		}
		out = append(out, row(p.rows[i])...)
		lines = append(lines, out.over(p.width, over))
	}
	if p.top > 0 {
		lines[0] = p.more(lines[0], fmt.Sprintf("%s %d more", t.Glyphs.Up, p.top))
	}
	if rest := len(p.rows) - p.top - room; rest > 0 {
		lines[len(lines)-1] = p.more(lines[len(lines)-1], fmt.Sprintf("%s %d more", t.Glyphs.Down, rest))
	}
	return lines
}

// more puts a note at the end of a line.
func (p *chainPane) more(l line, note string) line {
	note = " " + note + " "
	return spread(l.cut(p.width-len(note)-1, ""), line{{note, p.Theme().Badge}}, p.width, "")
}

func (p *chainPane) highlight(l *inspect.Lock, r chainRow) func(lipgloss.Style) lipgloss.Style {
	fresh := func(c *inspect.Contender) bool { return p.JustGranted(l.ID, c.Name) }
	if r.contender != nil && fresh(r.contender) || r.group != nil && slices.ContainsFunc(r.group.members, fresh) {
		return p.Theme().Fresh
	}
	return nil
}

func queueColumns(l *inspect.Lock) []column {
	columns := []column{
		{title: "#", width: 4, grow: 1, most: 6, right: true},
		{title: "STATE", width: 13, grow: 1, most: 14},
		{title: "MODE", width: 5},
		{title: "CONTENDER", middle: true, width: 12, grow: 5, most: 34},
		{title: "CLIENT", width: 15, grow: 4, most: 24},
		{title: "SESSION", middle: true, width: 10, grow: 3, most: 18, from: 112},
		{title: "QUEUED", width: 7, right: true},
		{title: "BLOCKS", width: 6, right: true, from: 95},
		{title: "WATCHES", width: 10, grow: 3, most: 20},
	}
	if l.Kind == inspect.KindRW {
		columns[3].width = 10
	} else {
		columns[2].from, columns[5].from, columns[7].from = never, 105, 88
	}
	return columns
}

func (p *chainPane) queueCells(l *inspect.Lock, r chainRow) []line {
	t, c := p.Theme(), r.contender
	dash := line{{t.Glyphs.Dash, t.Faint}}
	number := dash
	if c.Sequential {
		number = line{{fmt.Sprint(c.Sequence), t.Text}}
	}
	name := c.Owner.Label.String()
	if name == "" {
		name = c.Name.String()
	}
	at, id, since, blocks := dash, dash, dash, dash
	if where := describe.Client(&c.Owner); where != "" {
		at = line{{where, t.Text}}
	}
	if c.Owner.Session != 0 {
		id = line{{inspect.SessionID(c.Owner.Session), t.Muted}}
	}
	if d, ok := p.Snapshot().Age(l, c.Since, p.Now()); ok {
		since = line{{describe.Age(d), t.Text}}
	}
	if c.BlockedBelow > 0 {
		blocks = line{{fmt.Sprint(c.BlockedBelow), t.Text}}
	}
	return []line{number, p.stateCell(r), modeCell(t, c), {{name, t.Text}}, at, id, since, blocks, p.watchCell(l, c)}
}

func (p *chainPane) stateCell(r chainRow) line {
	t := p.Theme()
	s, word := contenderSign(t, r.contender)
	return line{{r.prefix, t.Faint}, s, {" " + word, s.style}}
}

// watchCell is whom a waiter watches, and whether the server's own table says so.
func (p *chainPane) watchCell(l *inspect.Lock, c *inspect.Contender) line {
	t := p.Theme()
	if c.Watches == "" {
		return line{{t.Glyphs.Dash, t.Faint}}
	}
	whom := text.Middle(c.Watches.String(), 12, t.Glyphs.Ellipsis)
	if before, ok := l.Contender(c.Watches); ok && before.Sequential {
		whom = fmt.Sprint(before.Sequence)
	}
	switch c.Watch {
	case inspect.Confirmed:
		return line{{t.Glyphs.WatchConfirmed + " " + whom, t.Waiting}}
	case inspect.Missing:
		return line{{t.Glyphs.WatchMissing + " not " + whom, t.Critical}}
	default:
		return line{{t.Glyphs.WatchExpected + " " + whom, t.Muted}}
	}
}

// ttlOfMaster is the place of TTL in the masters' columns.
const ttlOfMaster = 3

// masterColumns leaves out what no master tells.
func (p *chainPane) masterColumns(l *inspect.Lock) []column {
	columns := []column{
		{title: "MASTER", width: 15, grow: 2, most: 24},
		{title: "VOTE", width: 7},
		{title: "VALUE", middle: true, width: 10, grow: 3, most: 26},
		{title: "TTL", width: 18, grow: 5, most: 44},
		{title: "ROLE", width: 7, from: 76},
		{title: "UP", width: 6, right: true, from: 76},
		{title: "CLOCK", width: 7, right: true, from: 86},
	}
	var told [3]bool
	for i := range l.Masters {
		if s := p.server(l, l.Masters[i].Addr); s != nil && l.Masters[i].Up {
			told[0] = told[0] || s.Role != ""
			told[1] = told[1] || !s.StartedAt.IsZero()
			told[2] = told[2] || s.ClockKnown
		}
	}
	for i, any := range told {
		if !any {
			columns[ttlOfMaster+1+i].from = never
		}
	}
	return columns
}

func (p *chainPane) masterCells(l *inspect.Lock, v *inspect.Vote, ttlWidth int) []line {
	t := p.Theme()
	dash := line{{t.Glyphs.Dash, t.Faint}}
	role, up, offset := dash, dash, dash
	if s := p.server(l, v.Addr); s != nil && v.Up {
		if s.Role != "" {
			role = line{{describe.Printable(s.Role), t.Muted}}
		}
		if !s.StartedAt.IsZero() {
			up = p.upCell(v, p.Now().Sub(s.StartedAt))
		}
		if s.ClockKnown {
			offset = offsetCell(t, s.ClockOffset)
		}
	}
	mark, value, ttl := p.voteCells(l, v, ttlWidth)
	return []line{{{describe.Printable(v.Addr), t.Text}}, mark, value, ttl, role, up, offset}
}

// mayForget says that a master without the key started later than the key's time to live ago.
func (p *chainPane) mayForget(v *inspect.Vote, up time.Duration) bool {
	return !v.Present && up < p.longest
}

func (p *chainPane) upCell(v *inspect.Vote, up time.Duration) line {
	if p.mayForget(v, up) {
		return line{{p.Theme().Glyphs.Warning + describe.Age(up), p.Theme().Warning}}
	}
	return line{{describe.Age(up), p.Theme().Muted}}
}

func offsetCell(t *theme.Theme, d time.Duration) line {
	style := t.Muted
	if d.Abs() > time.Second {
		style = t.Warning
	}
	if d.Abs() < 10*time.Second {
		return line{{fmt.Sprintf("%+dms", d.Milliseconds()), style}}
	}
	return line{{fmt.Sprintf("%+ds", int(d.Seconds())), style}}
}

func (p *chainPane) server(l *inspect.Lock, addr string) *inspect.Server {
	if b := p.Snapshot().Backend(l.ID.Backend); b != nil {
		for i := range b.Servers {
			if b.Servers[i].Addr == addr {
				return &b.Servers[i]
			}
		}
	}
	return nil
}

func (p *chainPane) voteCells(l *inspect.Lock, v *inspect.Vote, ttlWidth int) (mark, value, ttl line) {
	t := p.Theme()
	switch {
	case !v.Up:
		return line{{t.Glyphs.Unknown, t.Unknown}}, line{{silence(v), t.Unknown}}, nil
	case !v.Present:
		return line{{t.Glyphs.Free, t.Free}}, p.absence(l, v), nil
	case v.Foreign:
		return line{{t.Glyphs.Warning, t.Warning}}, line{{"no lock: " + v.Value.String(), t.Warning}}, nil
	}
	mark = line{{t.Glyphs.Pending + " other", t.Warning}}
	if v.Agrees {
		mark = line{{t.Glyphs.Holding + " yes", t.Holding}}
	}
	value = line{{v.Value.String(), t.Text}}
	if token := recipe.DecodeToken(l.ID.Path, v.Value.Raw()); token.Recipe == "lockscope" && token.Label != "" {
		value = line{{inspect.Untrusted(token.Label).String(), t.Text}} // what is before it is random
	}
	if v.NoExpiry {
		return mark, value, line{{"never expires", t.Warning}}
	}
	return mark, value, gauge(p.Theme(), v.ExpiresAt.Sub(p.Now()), p.longest, ttlWidth-7, v.Agrees)
}

// absence says that a master does not have the key, and whether it may have forgotten it.
func (p *chainPane) absence(l *inspect.Lock, v *inspect.Vote) line {
	t := p.Theme()
	if s := p.server(l, v.Addr); s != nil && p.mayForget(v, p.Now().Sub(s.StartedAt)) {
		return line{{"absent, ", t.Muted}, {"restarted inside the TTL", t.Warning}}
	}
	return line{{"absent", t.Muted}}
}

// silence is why a master did not answer.
func silence(v *inspect.Vote) string {
	if v.Error == "" {
		return "no answer"
	}
	return describe.Cause(v.Error, v.Addr)
}

// redisContender is a holder or waiter of a Redis lock, below the masters: their columns are not its own.
func (p *chainPane) redisContender(l *inspect.Lock, r chainRow) line {
	t, c := p.Theme(), r.contender
	var notes []string
	if l.Kind == inspect.KindRW {
		notes = append(notes, modeCell(t, c).text())
	}
	if d, ok := p.Snapshot().Age(l, c.Since, p.Now()); ok && c.State != inspect.Holding {
		notes = append(notes, "queued "+describe.Age(d))
	}
	if left := c.ExpiresAt.Sub(p.Now()); !c.ExpiresAt.IsZero() && left > 0 {
		notes = append(notes, describe.Age(left)+" left")
	}
	note := line{{strings.Join(notes, ", "), t.Muted}}
	if c.Dead {
		note = append(line{{"gone?  ", t.Critical}}, note...)
	}
	state := p.stateCell(r).align(stateOfRedis, false, t.Glyphs.Ellipsis)
	room := max(12, p.width-margin-1-stateOfRedis-gap-note.width()-gap)
	name := line{{describe.Owner(c), t.Text}}.squeeze(room, t.Glyphs.Ellipsis)
	if room < 40 {
		name = name.align(room, false, t.Glyphs.Ellipsis)
	} else {
		name = name.align(min(room, max(40, name.width())), false, t.Glyphs.Ellipsis)
	}
	out := append(state, span{text: "  "})
	out = append(append(out, name...), span{text: "  "})
	return append(out, note...)
}

// stateOfRedis is how wide the state of a Redis contender is.
const stateOfRedis = 13
