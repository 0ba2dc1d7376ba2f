package tui

// scroller is a cursor in a list of which a part is in sight.
type scroller struct{ at, top int }

// to moves the cursor to a place in a list of n, of which rows are in sight.
func (c *scroller) to(at, n, rows int) {
	c.at = max(0, min(at, n-1))
	c.top = max(0, min(c.top, n-rows))
	c.top = min(c.top, c.at)
	c.top = max(c.top, c.at-rows+1)
}

// sight is the part of a list of n that is in sight.
func (c *scroller) sight(n, rows int) (from, to int) {
	from = max(0, min(c.top, n-1))
	return from, min(n, from+max(0, rows))
}
