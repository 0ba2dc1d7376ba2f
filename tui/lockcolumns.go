package tui

import "strings"

// lockColumns are those of a table of some width. A finding, whose longest name takes 20 cells, says more than a gauge, a
// kind or a library: they go first.
func lockColumns(width int) []column {
	lock, ttl, finding := 19, bareTTL, 12
	if width >= 84 {
		lock, finding = 20, 19
	}
	if width >= 96 {
		ttl, finding = gaugeTTL, 20
	}
	return []column{
		{title: "LOCK", middle: true, width: lock, grow: 5, most: 60},
		{title: "KIND", width: 9, from: 108},
		{title: "LIBRARY", width: 12, grow: 1, most: 18, from: 126},
		{title: "HOLDER", middle: true, width: 14, grow: 4, most: 44},
		{title: "HELD", width: 7, right: true},
		{title: "QUEUE", width: queueWidth},
		{title: "TTL", width: ttl, right: true},
		{title: "FINDING", width: finding, grow: 2, most: 24},
	}
}

// How wide TTL is without and with a gauge.
const bareTTL, gaugeTTL = 6, 11

// list is the cells in the order of the columns. The holder's client is added where there is room for all of it.
func (c *lockCells) list(widths []int) []line {
	if holder := append(c.holder[:len(c.holder):len(c.holder)], c.client...); holder.width() <= widths[holderColumn] {
		c.holder = holder
	}
	if n := len(c.ttl); c.ttl.width() > widths[ttlColumn] {
		c.ttl = line{{strings.TrimSpace(c.ttl[n-1].text), c.ttl[n-1].style}}
	}
	if len(c.finding) > 0 && len(c.old) > 0 {
		c.old = append(append(c.finding[:len(c.finding):len(c.finding)], span{text: "  "}), c.old...)
	}
	if len(c.finding) == 0 || len(c.old) > 0 && c.old.width() <= widths[findingColumn] {
		c.finding = c.old
	}
	return []line{c.lock, c.kind, c.library, c.holder, c.held, c.queue, c.ttl, c.finding}
}

// The places of HOLDER, TTL and FINDING in the columns.
const holderColumn, ttlColumn, findingColumn = 3, 6, 7
