package widget

// Scroller is the cursor of a list and its first visible line; every scrolling list and text has
// one. Its zero value is at the start.
type Scroller struct{ At, Top int }

// To moves the cursor in a list of n with this many visible rows. It scrolls no more than
// necessary.
func (c *Scroller) To(at, n, rows int) {
	c.At = max(0, min(at, n-1))
	c.Top = max(0, min(c.Top, n-rows))
	c.Top = min(c.Top, c.At)
	c.Top = max(c.Top, c.At-rows+1)
}

// Scroll moves a text of n lines, which has no cursor.
func (c *Scroller) Scroll(by, n, rows int) { c.Top = max(0, min(c.Top+by, n-rows)) }

// Center is To with the cursor in the middle if there is more on both sides.
func (c *Scroller) Center(at, n, rows int) {
	c.At = max(0, min(at, n-1))
	c.Top = max(0, min(c.At-rows/2, n-rows))
}

// Visible is the visible part of a list of n.
func (c *Scroller) Visible(n, rows int) (from, to int) {
	from = max(0, min(c.Top, n-1))
	return from, min(n, from+max(0, rows))
}
