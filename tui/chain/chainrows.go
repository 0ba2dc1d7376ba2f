package chain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// tree makes the rows of a queue in order, each after its predecessor.
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
		if i+1 < len(waiters) && waiters[i+1].Watches == c.Watches {
			sign = branch
		}
		rows = append(rows, chainRow{contender: c, prefix: strings.Repeat(" ", min(d, widget.Deepest)-1) + sign})
	}
	return rows
}

// table returns the columns for this lock's rows, and the function that draws a row.
func (p *Pane) table(l *inspect.Lock) ([]widget.Column, func(chainRow) widget.Line) {
	columns := p.queueColumns(l)
	if len(l.Masters) > 0 {
		columns = p.masterColumns(l)
	}
	widths := widget.Lay(columns, p.width-widget.Margin-1)
	return columns, func(r chainRow) widget.Line {
		switch {
		case r.gone:
			return widget.Line{{describe.Owner(r.contender) + " " + leftWords, p.Theme().Faint}}
		case r.vote != nil:
			return widget.Join(columns, widths, p.masterCells(l, r.vote, widths[ttlOfMaster]),
				p.Theme().Glyphs.Ellipsis)
		case len(l.Masters) > 0 && r.group != nil:
			return p.redisGroup(r)
		case len(l.Masters) > 0:
			return p.redisContender(l, r)
		case r.group != nil:
			return widget.Join(columns, widths, p.groupCells(l, r), p.Theme().Glyphs.Ellipsis)
		default:
			return widget.Join(columns, widths, p.queueCells(l, r), p.Theme().Glyphs.Ellipsis)
		}
	}
}

// leftWords describes a contender that is gone.
const leftWords = "has left the queue"

// rowLines draws the visible rows, and counts those above and below.
func (p *Pane) rowLines(l *inspect.Lock, row func(chainRow) widget.Line, room int) []widget.Line {
	t := p.Theme()
	p.list.To(p.list.At, len(p.rows), room)
	from, to := p.list.Visible(len(p.rows), room)
	var lines []widget.Line
	for i := from; i < to; i++ {
		out := widget.Line{{"   ", t.Text}}
		over := p.highlight(l, p.rows[i])
		if i == p.list.At {
			out = widget.Line{{t.Glyphs.Cursor + "  ", t.Holding}}
			if !p.Unfocused {
				over = t.Selected
			}
		}
		out = append(out, row(p.rows[i])...)
		lines = append(lines, out.Over(p.width, over))
	}
	more := func(l widget.Line, sign string, rows int) widget.Line { // a note at the end of a line
		note := widget.Line{{fmt.Sprintf(" %s %d more ", sign, rows), t.Badge}}
		return widget.KeepRight(l, note, p.width, "")
	}
	if from > 0 {
		lines[0] = more(lines[0], t.Glyphs.Up, from)
	}
	if rest := len(p.rows) - to; rest > 0 {
		lines[len(lines)-1] = more(lines[len(lines)-1], t.Glyphs.Down, rest)
	}
	return lines
}

func (p *Pane) highlight(l *inspect.Lock, r chainRow) func(theme.Style) theme.Style {
	fresh := func(c *inspect.Contender) bool { return p.JustGranted(l.ID, c.Name) }
	if r.contender != nil && fresh(r.contender) || r.group != nil && slices.ContainsFunc(r.group.members, fresh) {
		return p.Theme().Fresh
	}
	return nil
}

// measured limits how many names at the head of the queue may widen their column, since a queue
// may be very long.
const measured = 200

func contenderName(c *inspect.Contender) string {
	if name := c.Owner.Label.String(); name != "" {
		return name
	}
	return c.Name.String()
}

// nameCell returns a contender's name, with a mark for our own.
func nameCell(t *theme.Theme, c *inspect.Contender) widget.Line {
	return append(widget.Line{{contenderName(c), t.Text}}, screen.You(t, &c.Owner)...)
}

func (p *Pane) queueColumns(l *inspect.Lock) []widget.Column {
	columns := []widget.Column{
		{Title: "#", Width: 4, Right: true},
		{Title: "STATE", Width: 13, Grow: 1, Most: 14},
		{Title: "MODE", Width: 5},
		{Title: "CONTENDER", Middle: true, Width: 12, Grow: 5, Most: 12},
		{Title: "CLIENT", Width: 15, Grow: 4, Most: 24},
		{Title: "SESSION", Middle: true, Width: 10, Grow: 6, Most: 18, From: 112},
		{Title: "QUEUED", Width: 7, Right: true},
		{Title: "BLOCKS", Width: 6, Right: true, From: 95},
		{Title: "WATCHES", Width: 10, Grow: 3, Most: 20},
	}
	watches := len(columns) - 1
	columns[3].Domain = describe.SharedDomain(p.Snapshot())
	columns[4].Domain = columns[3].Domain
	if l.Kind == inspect.KindRW {
		columns[3].Width = 10
	} else {
		columns[2].From, columns[5].From, columns[7].From = widget.Never, 105, 88
	}
	name, label, client, watch, session := 0, 0, 0, 0, 0
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters[:min(len(l.Waiters), measured)]} {
		for i := range list {
			name = max(name, nameCell(p.Theme(), &list[i]).Width())
			client = max(client, lipgloss.Width(screen.Ages(p).Client(&list[i].Owner)))
			watch = max(watch, p.watchCell(l, &list[i]).Width())
			session = max(session, len(inspect.SessionID(list[i].Owner.Session)))
			if list[i].Owner.Label != "" {
				label = max(label, nameCell(p.Theme(), &list[i]).Width())
			}
		}
	}
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		if last := len(list) - 1; last >= 0 { // in the order of their numbers
			columns[0].Width = max(columns[0].Width, len(fmt.Sprint(list[last].Sequence)))
		}
	}
	columns[3].Fit(p.widths.labels.Keep(label, p.Now()))
	columns[4].Fit(p.widths.clients.Keep(client, p.Now()))
	columns[watches].Fit(p.widths.watches.Keep(watch, p.Now()))
	columns[5].Fit(p.widths.sessions.Keep(session, p.Now()))
	if width := p.width - widget.Margin - 1; !widget.InFull(columns, width, 3, 4, 5) {
		columns[5].From = widget.Never // the session is among the details
		widget.InFull(columns, width, 3, 4)
	}
	columns[3].Most = max(columns[3].Most, p.widths.names.Keep(name, p.Now())) // a node's name says less
	return columns
}

func (p *Pane) queueCells(l *inspect.Lock, r chainRow) []widget.Line {
	t, c := p.Theme(), r.contender
	dash := widget.Line{{t.Glyphs.Dash, t.Faint}}
	number := dash
	if c.Sequential {
		number = widget.Line{{fmt.Sprint(c.Sequence), t.Text}}
	}
	at, id, since, blocks := dash, dash, dash, dash
	if where := screen.Ages(p).Client(&c.Owner); where != "" {
		at = widget.Line{{where, t.Text}}
	}
	if c.Owner.Session != 0 {
		id = widget.Line{{inspect.SessionID(c.Owner.Session), t.Muted}}
	}
	if d, ok := p.ages(l).Since(l, c); ok {
		since = ageCell(t, d)
	}
	if n := describe.Blocks(l, c); n != "" {
		blocks = widget.Line{{n, t.Text}}
	}
	return []widget.Line{
		number, p.stateCell(r), screen.ModeCell(t, c), nameCell(t, c), at, id, since, blocks, p.watchCell(l, c),
	}
}

// ageCell returns an age, with a mark if its clock was never compared with ours.
func ageCell(t *theme.Theme, d inspect.Age) widget.Line {
	return widget.Line{{describe.SignOf(d), t.Muted}, {describe.Age(d.Duration), t.Text}}
}

func (p *Pane) stateCell(r chainRow) widget.Line {
	t := p.Theme()
	s, word := screen.ContenderSign(t, r.contender)
	return widget.Line{{r.prefix, t.Faint}, s, {" " + word, s.Style}}
}

// watchCell returns a waiter's predecessor, with a mark if the server's watch table confirms or
// denies the watch.
func (p *Pane) watchCell(l *inspect.Lock, c *inspect.Contender) widget.Line {
	t := p.Theme()
	watches, behind := c.Watches, describe.WatchesBehind(l, c)
	if behind != nil {
		watches = behind.Name
	}
	if watches == "" {
		return widget.Line{{t.Glyphs.Dash, t.Faint}}
	}
	whom := text.Middle(watches.String(), 12, t.Glyphs.Ellipsis)
	if watched, ok := l.Contender(watches); ok && watched.Sequential {
		whom = fmt.Sprint(watched.Sequence)
	}
	switch {
	case behind != nil:
		return widget.Line{{t.Glyphs.WatchConfirmed + " " + whom, t.Warning}}
	case c.Watch == inspect.Confirmed:
		return widget.Line{{t.Glyphs.WatchConfirmed + " " + whom, t.Waiting}}
	case c.Watch == inspect.Missing:
		return widget.Line{{t.Glyphs.WatchMissing + " not " + whom, t.Critical}}
	default:
		return widget.Line{{t.Glyphs.WatchExpected + " " + whom, t.Muted}}
	}
}

// ttlOfMaster is the index of TTL in the masters' columns.
const ttlOfMaster = 3

// masterColumns omits columns that no master reports.
func (p *Pane) masterColumns(l *inspect.Lock) []widget.Column {
	columns := []widget.Column{
		{Title: "MASTER", Width: 15, Grow: 2, Most: 24},
		{Title: "VOTE", Width: 7},
		{Title: "VALUE", Middle: true, Width: 10, Grow: 6, Most: 26},
		{Title: "TTL", Width: 18, Grow: 3, Most: 44},
		{Title: "ROLE", Width: 7, From: 76},
		{Title: "UP FOR", Width: 6, Right: true, From: 76},
		{Title: "CLOCK", Width: 8, Right: true, From: 86},
	}
	if len(l.Masters) == 1 { // there is no vote
		columns[1].Title = "HELD"
	}
	var known [3]bool
	for i := range l.Masters {
		if s := serverOf(p.Snapshot(), l, l.Masters[i].Addr); s != nil && l.Masters[i].Up {
			known[0] = known[0] || s.Role != ""
			known[1] = known[1] || !s.StartedAt.IsZero()
			known[2] = known[2] || s.ClockKnown
		}
	}
	need, addr := 0, 0
	for i := range l.Masters {
		_, value, _ := p.voteCells(l, &l.Masters[i], 0)
		need, addr = max(need, value.Width()), max(addr, lipgloss.Width(describe.Printable(l.Masters[i].Addr)))
	}
	columns[0].Fit(addr)
	columns[2].Most = max(columns[2].Most, p.widths.names.Keep(need, p.Now()))
	for i, any := range known {
		if !any {
			columns[ttlOfMaster+1+i].From = widget.Never
		}
	}
	widget.InFull(columns, p.width-widget.Margin-1, 0, 2)
	return columns
}

func (p *Pane) masterCells(l *inspect.Lock, v *inspect.Vote, ttlWidth int) []widget.Line {
	t := p.Theme()
	dash := widget.Line{{t.Glyphs.Dash, t.Faint}}
	role, up, offset := dash, dash, dash
	if s := serverOf(p.Snapshot(), l, v.Addr); s != nil && v.Up {
		if s.Role != "" {
			role = widget.Line{{describe.Printable(s.Role), t.Muted}}
		}
		if !s.StartedAt.IsZero() {
			up = p.upCell(l, v, s)
		}
		if s.ClockKnown {
			offset = offsetCell(t, s.ClockOffset)
		}
	}
	mark, value, ttl := p.voteCells(l, v, ttlWidth)
	return []widget.Line{{{describe.Printable(v.Addr), t.Text}}, mark, value, ttl, role, up, offset}
}

// restart returns the finding that a master lost the key in a restart; nil without one. The time of
// the restart alone proves nothing. The key may have been written elsewhere since, or been deleted.
func restart(l *inspect.Lock, v *inspect.Vote) *inspect.Finding {
	i := slices.IndexFunc(l.Findings, func(f inspect.Finding) bool {
		return f.Rule == "master-restarted" && f.Subject.Server == inspect.Untrusted(v.Addr)
	})
	if v.Present || i < 0 {
		return nil
	}
	return &l.Findings[i]
}

func (p *Pane) upCell(l *inspect.Lock, v *inspect.Vote, s *inspect.Server) widget.Line {
	t, up := p.Theme(), describe.Age(p.Now().Sub(s.StartedAt))
	if restart(l, v) != nil {
		return widget.Line{{t.Glyphs.Warning + up, t.Warning}}
	}
	return widget.Line{{up, t.Muted}}
}

func offsetCell(t *theme.Theme, d time.Duration) widget.Line {
	style, mark := t.Muted, ""
	if d.Abs() > time.Second {
		style, mark = t.Warning, t.Glyphs.Warning
	}
	if d.Abs() < 10*time.Second {
		return widget.Line{{mark + fmt.Sprintf("%+dms", d.Milliseconds()), style}}
	}
	return widget.Line{{mark + fmt.Sprintf("%+ds", int(d.Seconds())), style}}
}

// serverOf returns the server of a lock at an address, or nil.
func serverOf(s *inspect.Snapshot, l *inspect.Lock, addr string) *inspect.Server {
	if b := s.Backend(l.ID.Backend); b != nil {
		for i := range b.Servers {
			if b.Servers[i].Addr == addr {
				return &b.Servers[i]
			}
		}
	}
	return nil
}

func (p *Pane) voteCells(l *inspect.Lock, v *inspect.Vote, ttlWidth int) (mark, value, ttl widget.Line) {
	t := p.Theme()
	switch {
	case !v.Up:
		return widget.Line{{t.Glyphs.Unknown, t.Unknown}}, widget.Line{{noAnswer(v), t.Unknown}}, nil
	case !v.Present:
		return widget.Line{{t.Glyphs.Free, t.Free}}, p.absence(l, v), nil
	case v.Foreign:
		return widget.Line{{t.Glyphs.Warning, t.Warning}}, widget.Line{{"no lock: " + v.Value.String(), t.Warning}}, nil
	}
	mark = widget.Line{{t.Glyphs.Pending + " other", t.Warning}}
	if v.Agrees {
		mark = widget.Line{{t.Glyphs.Holding + " yes", t.Holding}}
	}
	value = widget.Line{{v.Value.String(), t.Text}}
	if token := recipe.DecodeToken(l.ID.Path, v.Value.Raw()); token.Recipe == "lockscope" && token.Label != "" {
		value = widget.Line{{inspect.Untrusted(token.Label).String(), t.Text}} // the part before it is random
	}
	if v.NoExpiry {
		return mark, value, widget.Line{{"never expires", t.Warning}}
	}
	return mark, value, screen.Gauge(p.Theme(), v.ExpiresAt.Sub(p.Now()), l.LongestTTL(), ttlWidth-7, v.Agrees)
}

// absence returns the sign of a master without the key. A master that lost it, or may have, gets a
// different sign.
func (p *Pane) absence(l *inspect.Lock, v *inspect.Vote) widget.Line {
	t := p.Theme()
	switch f := restart(l, v); {
	case f == nil:
		return widget.Line{{"absent", t.Muted}}
	case f.Confidence == recipe.Possible:
		return widget.Line{{"absent, up for less than the TTL", t.Muted}}
	default:
		return widget.Line{{"absent, ", t.Muted}, {"restarted within the TTL", t.Warning}}
	}
}

// noAnswer returns the reason why a master did not answer.
func noAnswer(v *inspect.Vote) string {
	if v.Error == "" {
		return "no answer"
	}
	return describe.Cause(v.Error, v.Addr)
}

// redisContender draws a holder or waiter of a Redis lock below the masters, with columns of its
// own.
func (p *Pane) redisContender(l *inspect.Lock, r chainRow) widget.Line {
	t, c := p.Theme(), r.contender
	var notes []string
	if l.Kind == inspect.KindRW {
		notes = append(notes, screen.ModeCell(t, c).Text())
	}
	if d, ok := p.ages(l).Since(l, c); ok && c.State != inspect.Holding {
		notes = append(notes, "queued "+describe.Signed(d))
	}
	if left := c.ExpiresAt.Sub(p.Now()); !c.ExpiresAt.IsZero() && left > 0 {
		notes = append(notes, describe.Age(left)+" left")
	}
	note := widget.Line{{strings.Join(notes, ", "), t.Muted}}
	if c.Dead {
		note = append(widget.Line{{"gone?  ", t.Critical}}, note...)
	}
	state := p.stateCell(r).Align(stateOfRedis, false, t.Glyphs.Ellipsis)
	room := max(12, p.width-widget.Margin-1-stateOfRedis-widget.Gap-note.Width()-widget.Gap)
	name := append(widget.Line{{describe.Owner(c), t.Text}}, screen.You(t, &c.Owner)...)
	name = name.LeaveOut(describe.SharedDomain(p.Snapshot()), room).Squeeze(room, t.Glyphs.Ellipsis)
	if room < 40 {
		name = name.Align(room, false, t.Glyphs.Ellipsis)
	} else {
		name = name.Align(min(room, max(40, name.Width())), false, t.Glyphs.Ellipsis)
	}
	out := append(state, widget.Span{Text: "  "})
	out = append(append(out, name...), widget.Span{Text: "  "})
	return append(out, note...)
}

// stateOfRedis is the width of a Redis contender's state, in cells.
const stateOfRedis = 13
