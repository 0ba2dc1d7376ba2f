package chain

import (
	"slices"

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

// isOf reports whether a row is about the owner of a contender, perhaps by another entry.
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
	p.moved = true
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

// followed returns the heading of the selection, which says what the cursor follows.
func (p *Pane) followed() string {
	name, r := "selected", p.rows[p.list.At]
	switch {
	case r.contender == nil:
	case p.moved:
		name += " " + p.Theme().Glyphs.Dot + " follows this client"
	case r.contender.State == inspect.Holding:
		name += " " + p.Theme().Glyphs.Dot + " follows the holder"
	}
	return name
}
