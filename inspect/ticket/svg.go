package ticket

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
)

// The picture is in pixels: a column of boxes, one a contender, with an arrow from each waiter to whom it waits for on
// their left. It needs nothing but a font of equal widths.
const (
	pictureWidth = 960
	margin       = 24
	boxLeft      = 110
	boxHeight    = 40
	rowHeight    = 54
	lineHeight   = 20
	fontSize     = 13
	cellWidth    = 7.9 // of one character at that size
	mostBoxes    = 40
)

// The colours are readable on white paper, and each stands beside a word.
const (
	ink, muted, rule          = "#1f2328", "#59636e", "#d1d9e0"
	holdingFill, holdingLine  = "#dafbe1", "#1a7f37"
	waitingFill, waitingLine  = "#ddf4ff", "#0969da"
	criticalLine, warningLine = "#cf222e", "#9a6700"
)

// picture is an SVG in the making; y is the next line's, in pixels from the top.
type picture struct {
	strings.Builder
	y int
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(describe.Printable(s))) // a Builder takes everything
	return b.String()
}

// text writes a line that ends before right.
func (p *picture) text(x, y, right int, fill, weight, s string) {
	s = text.Middle(describe.Printable(s), max(4, int(float64(right-x)/cellWidth)), "…")
	fmt.Fprintf(p, `<text x="%d" y="%d" fill="%s" font-weight="%s">%s</text>`+"\n", x, y, fill, weight, escapeXML(s))
}

// paragraph writes text in as many lines as it needs, up to most.
func (p *picture) paragraph(x int, fill, weight, s string, most int) {
	room := int(float64(pictureWidth-margin-x) / cellWidth)
	lines := strings.Split(ansi.Wrap(describe.Printable(s), room, ""), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] += " …"
	}
	for _, l := range lines {
		p.y += lineHeight
		p.text(x, p.y, pictureWidth-margin, fill, weight, l)
	}
}

func (t Ticket) svg() string {
	l := t.Lock
	var p picture
	p.y = margin
	p.text(margin, p.y+4, pictureWidth-margin, ink, "bold", l.ID.String())
	p.paragraph(margin, ink, "normal", t.View.Verdict(l), 3)
	for _, f := range t.findings() {
		fill := muted
		switch f.Severity {
		case inspect.Critical:
			fill = criticalLine
		case inspect.Warning:
			fill = warningLine
		}
		p.paragraph(margin, fill, "normal", fmt.Sprintf("%s: %s: %s", f.Severity, f.Rule, f.Message), 2)
	}
	p.y += lineHeight
	t.drawQueue(&p)
	t.drawMasters(&p)
	p.y += lineHeight
	p.text(margin, p.y, pictureWidth-margin, muted, "normal", stamp(t.View.Now)+" · lockscope")
	height := p.y + margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%[3]d">
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="%[4]s"/></marker></defs>
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, pictureWidth, height, fontSize, muted) + p.String() + "</svg>\n"
}

// drawQueue draws a box for each contender, and the arrows.
func (t Ticket) drawQueue(p *picture) {
	l := t.Lock
	everyone := append(append([]inspect.Contender(nil), l.Holders...), l.Waiters...)
	more := max(0, len(everyone)-mostBoxes)
	everyone = everyone[:len(everyone)-more]
	top := p.y
	middle := func(i int) int { return top + i*rowHeight + boxHeight/2 }
	at := make(map[inspect.Untrusted]int, len(everyone))
	for i := range everyone {
		at[everyone[i].Name] = i
	}
	for i := range everyone {
		t.drawBox(p, &everyone[i], top+i*rowHeight)
		if to, ok := at[everyone[i].Watches]; ok && to != i && everyone[i].Watches != "" {
			drawArrow(p, &everyone[i], middle(i), middle(to))
		}
	}
	p.y = top + len(everyone)*rowHeight
	if more > 0 {
		p.text(boxLeft, p.y+lineHeight/2, pictureWidth-margin, muted, "normal", fmt.Sprintf("and %d more", more))
		p.y += lineHeight
	}
}

func (t Ticket) drawBox(p *picture, c *inspect.Contender, y int) {
	fill, line, word := waitingFill, waitingLine, "waits"
	since := c.Since
	switch c.State {
	case inspect.Holding:
		fill, line, word = holdingFill, holdingLine, "holds"
		if !c.HeldSince.IsZero() {
			since = c.HeldSince
		}
	case inspect.Pending:
		word = "pending"
	}
	if c.Mode == recipe.Shared {
		word += " (shared)"
	}
	fmt.Fprintf(p, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`+"\n", boxLeft, y, pictureWidth-margin-boxLeft, boxHeight, fill, line)
	who := describe.Owner(c)
	if client := describe.Client(&c.Owner); client != "" && client != who {
		who += "  " + client
	}
	const timesAt = pictureWidth - margin - 290
	p.text(boxLeft+12, y+17, boxLeft+120, line, "bold", word)
	p.text(boxLeft+128, y+17, timesAt-8, ink, "bold", who)
	p.text(boxLeft+128, y+34, timesAt-8, muted, "normal", c.Name.String())
	p.text(timesAt, y+17, pictureWidth-margin-8, ink, "normal", t.since(since))
	if c.BlockedBelow > 0 {
		p.text(timesAt, y+34, pictureWidth-margin-8, muted, "normal", "blocks "+describe.Count(int(c.BlockedBelow), "waiter"))
	}
}

// since words an instant as its age and its time of day in UTC.
func (t Ticket) since(at time.Time) string {
	if at.IsZero() {
		return "since unknown"
	}
	now := t.View.Now.Add(t.offset())
	return describe.Span(now.Sub(at)) + ", since " + describe.When(at, now.UTC()) + "Z"
}

// drawArrow leads from a waiter to whom it waits for; the farther, the wider its bow.
func drawArrow(p *picture, c *inspect.Contender, from, to int) {
	rows := (from - to) / rowHeight
	bow := boxLeft - 20 - 10*min(max(rows, -rows), 7)
	line, dash := muted, ""
	switch c.Watch {
	case inspect.Missing:
		line, dash = criticalLine, ` stroke-dasharray="3 3"`
	case inspect.Unconfirmed:
		dash = ` stroke-dasharray="6 3"`
	}
	fmt.Fprintf(p, `<path d="M%[1]d %[2]d C%[3]d %[2]d %[3]d %[4]d %[1]d %[4]d" fill="none" stroke="%[5]s"%[6]s marker-end="url(#head)"/>`+"\n",
		boxLeft-2, from-6, bow, to+6, line, dash)
	if c.Watch == inspect.Missing {
		p.text(margin-16, from+4, boxLeft-4, criticalLine, "normal", "no watch")
	}
}

// drawMasters draws a line for each master's vote.
func (t Ticket) drawMasters(p *picture) {
	for i := range t.Lock.Masters {
		m := &t.Lock.Masters[i]
		sign, fill, value := "○", muted, m.Value.String()
		switch {
		case !m.Up:
			sign, value = "?", "no answer: "+inspect.Escape(m.Error)
		case !m.Present:
			value = "absent"
		case m.Foreign:
			value = "no lock: " + value
		case m.Agrees:
			sign, fill = "●", holdingLine
		}
		fmt.Fprintf(p, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`+"\n", margin, p.y, pictureWidth-margin, p.y, rule)
		p.y += lineHeight
		p.text(margin, p.y-5, margin+20, fill, "bold", sign)
		p.text(margin+24, p.y-5, 300, ink, "normal", inspect.Escape(m.Addr))
		p.text(310, p.y-5, 700, fill, "normal", value)
		p.text(710, p.y-5, pictureWidth-margin, ink, "normal", describe.Expiry(m, t.View.Now))
	}
}
