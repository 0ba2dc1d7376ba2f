package chain

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// follow returns the row of the selection. A person who has left the queue keeps a row, since a
// key pressed now was meant for them.
func (p *Pane) follow(l *inspect.Lock) int {
	at := p.find(p.selected)
	switch {
	case !p.moved:
		return 0
	case at >= 0 || p.person == nil:
		return max(at, 0)
	}
	if at = slices.IndexFunc(p.rows, func(r chainRow) bool { return r.isOf(p.person, p.id.Backend) }); at >= 0 {
		return at // back in the queue
	}
	at = min(p.list.At, len(p.rows))
	if _, there := l.Contender(p.person.Name); !there {
		p.rows = slices.Insert(p.rows, at, chainRow{contender: p.person, gone: true})
	}
	return at
}

// keptFor is the minimum time that a holder stays selected, so that a busy lock can be read.
const keptFor = 2 * time.Second

// keep selects the row under the cursor, unless it only just started to show another holder.
func (p *Pane) keep() {
	if p.moved || p.list.At >= len(p.rows) || p.rows[p.list.At].contender == nil {
		p.kept = chainRow{}
		return
	}
	r := p.rows[p.list.At]
	switch {
	case p.kept.contender != nil && r.key() == p.kept.key():
		p.kept = r
	case p.kept.contender == nil || p.Now().Sub(p.keptFrom).Abs() >= keptFor:
		p.kept, p.keptFrom = r, p.Now()
	}
}

// current is the selected row.
func (p *Pane) current() chainRow {
	switch {
	case p.kept.contender != nil:
		return p.kept
	case p.list.At < len(p.rows):
		return p.rows[p.list.At]
	default:
		return chainRow{}
	}
}

// isOf reports whether a row is about the owner of a contender, perhaps through another entry.
func (r chainRow) isOf(c *inspect.Contender, backend string) bool {
	if r.contender == nil || r.contender.Owner.Label != c.Owner.Label {
		return false
	}
	is, known := r.contender.Identity(backend)
	was, _ := c.Identity(backend)
	return known && is == was
}

// Move moves the cursor.
func (p *Pane) Move(by int) {
	p.moved, p.kept = true, chainRow{}
	p.moveTo(p.list.At + by)
}

func (p *Pane) moveTo(at int) {
	p.list.To(at, len(p.rows), max(1, p.room))
	p.selected, p.person = "", nil
	if p.list.At < len(p.rows) {
		r := p.rows[p.list.At]
		p.selected, p.person = r.key(), r.contender
	}
}

// followed is the heading of the selection, and says what the cursor follows.
func (p *Pane) followed() string {
	name, r := "selected", p.current()
	switch {
	case r.contender == nil:
	case p.moved:
		name += " " + p.Theme().Glyphs.Dot + " follows this client"
	case p.rows[p.list.At].key() != r.key():
		name += " " + p.Theme().Glyphs.Dot + " a recent holder"
	case r.contender.State == inspect.Holding:
		name += " " + p.Theme().Glyphs.Dot + " follows the holder"
	}
	return name
}
