package locks

import (
	"strings"

	"lockscope/tui/widget"
)

// lockColumns are those of a table of some width, in the order of Sorting. A finding, whose longest name takes 20 cells, says more than a gauge, a
// kind or a library: they go first.
func lockColumns(width int) []widget.Column {
	lock, ttl, finding := 19, bareTTL, 12
	if width >= 84 {
		lock, finding = 20, 19
	}
	if width >= 96 {
		ttl, finding = gaugeTTL, 20
	}
	return []widget.Column{
		{Title: "LOCK", Middle: true, Width: lock, Grow: 5, Most: 60},
		{Title: "KIND", Width: 9, From: 108},
		{Title: "LIBRARY", Width: 12, Grow: 1, Most: 18, From: 126},
		{Title: "HOLDER", Middle: true, Width: 14, Grow: 4, Most: 44},
		{Title: "HELD", Width: 7, Right: true},
		{Title: "QUEUE", Width: queueWidth},
		{Title: "TTL", Width: ttl, Right: true},
		{Title: "FINDING", Width: finding, Grow: 2, Most: 24},
	}
}

// Widths of TTL without and with a gauge, in cells.
const bareTTL, gaugeTTL = 6, 11

// list is the cells in the order of lockColumns. The holder's client is added where there is room for all of it.
func (c *lockCells) list(widths []int) []widget.Line {
	if holder := append(c.Holder[:len(c.Holder):len(c.Holder)], c.client...); holder.Width() <= widths[ByHolder] {
		c.Holder = holder
	}
	if n := len(c.Ttl); c.Ttl.Width() > widths[byTTL] {
		c.Ttl = widget.Line{{strings.TrimSpace(c.Ttl[n-1].Text), c.Ttl[n-1].Style}}
	}
	if len(c.Finding) > 0 && len(c.old) > 0 {
		c.old = append(append(c.Finding[:len(c.Finding):len(c.Finding)], widget.Span{Text: "  "}), c.old...)
	}
	if len(c.Finding) == 0 || len(c.old) > 0 && c.old.Width() <= widths[ByWorst] {
		c.Finding = c.old
	}
	return []widget.Line{c.Lock, c.Kind, c.Library, c.Holder, c.Held, c.Queue, c.Ttl, c.Finding}
}
