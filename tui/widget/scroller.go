package widget

// Scroller is a cursor in a list of which a part is in sight.
type Scroller struct{ At, Top int }

// To moves the cursor to a place in a list of n, of which rows are in sight.
func (c *Scroller) To(at, n, rows int) {
	c.At = max(0, min(at, n-1))
	c.Top = max(0, min(c.Top, n-rows))
	c.Top = min(c.Top, c.At)
	c.Top = max(c.Top, c.At-rows+1)
}

// Sight is the part of a list of n that is in sight.
func (c *Scroller) Sight(n, rows int) (from, to int) {
	from = max(0, min(c.Top, n-1))
	return from, min(n, from+max(0, rows))
}
