package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"strings"
)

// A cell is whole pixels, or seams show between cells: JetBrains Mono is 9 wide at 15 px. It must
// be the only font named, since an emoji font would take the digits.
const (
	fontSize   = 15
	cellWidth  = 9
	cellHeight = 20
	baseline   = 15 // from a cell's top
	padding    = 16
	titleBar   = 32
)

// The bits of a cell's Style.Attrs, by the emulator's order.
const (
	bold = 1 << iota
	faint
	italic
	_ // blink
	_ // rapid blink
	reverse
	conceal
	strike
)

// look is a cell's style, with its colours after reverse and faint.
type look struct {
	ink, paper                      color.RGBA
	bold, italic, underline, strike bool
}

// svg draws the screen in a window.
func (t *terminal) svg(title string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns, rows := t.screen.Width(), t.screen.Height()
	width, height := columns*cellWidth+2*padding, rows*cellHeight+2*padding+titleBar
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="JetBrains Mono" font-size="%d" xml:space="preserve">`+"\n", width, height, fontSize)
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="9" fill="%s" stroke="%s"/>`+"\n", width-1, height-1, hex(t.background), hex(t.border))
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="5.5" fill="%s"/>`+"\n", 20+i*20, titleBar/2+2, c)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" font-size="13" text-anchor="middle">%s</text>`+"\n", width/2, titleBar/2+7, hex(t.title), quoted(title))
	fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", padding, padding+titleBar)
	for y := range rows {
		t.papers(&b, y, columns)
		t.inks(&b, y, columns)
	}
	b.WriteString("</g></svg>\n")
	return b.Bytes()
}

// papers draws the background of a row, one rectangle for neighbours of one colour.
func (t *terminal) papers(b *bytes.Buffer, y, columns int) {
	for x := 0; x < columns; {
		paper, from := t.lookAt(x, y).paper, x
		for x < columns && t.lookAt(x, y).paper == paper {
			x++
		}
		if paper != t.background {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n",
				from*cellWidth, y*cellHeight, (x-from)*cellWidth, cellHeight, hex(paper))
		}
	}
}

// inks draws a row's text cell by cell, so that nothing drifts and no ligature forms.
func (t *terminal) inks(b *bytes.Buffer, y, columns int) {
	for x := range columns {
		c := t.screen.CellAt(x, y)
		if c == nil || c.Width == 0 {
			continue
		}
		l := t.lookAt(x, y)
		text := strings.TrimSpace(c.Content)
		switch r, isBlock := blocks[text]; {
		case text == "" || c.Style.Attrs&conceal != 0:
		case isBlock:
			fmt.Fprintf(b, `<rect x="%g" y="%g" width="%g" height="%g" fill="%s"%s/>`+"\n", float64(x*cellWidth)+r.x*cellWidth,
				float64(y*cellHeight)+r.y*cellHeight, r.width*cellWidth, r.height*cellHeight, hex(l.ink), r.shade())
		default:
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s"%s>%s</text>`+"\n", x*cellWidth, y*cellHeight+baseline, hex(l.ink), l.font(), quoted(text))
		}
		if l.underline {
			stroke(b, x, y*cellHeight+baseline+2, c.Width, l.ink)
		}
		if l.strike {
			stroke(b, x, y*cellHeight+cellHeight/2, c.Width, l.ink)
		}
	}
}

func stroke(b *bytes.Buffer, x, y, cells int, ink color.RGBA) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="1" fill="%s"/>`+"\n", x*cellWidth, y, cells*cellWidth, hex(ink))
}

func (l look) font() string {
	var s string
	if l.bold {
		s += ` font-weight="bold"`
	}
	if l.italic {
		s += ` font-style="italic"`
	}
	return s
}

func (t *terminal) lookAt(x, y int) look {
	c := t.screen.CellAt(x, y)
	if c == nil {
		return look{ink: t.foreground, paper: t.background}
	}
	has := func(bit uint8) bool { return c.Style.Attrs&bit != 0 }
	l := look{
		ink: orElse(c.Style.Fg, t.foreground), paper: orElse(c.Style.Bg, t.background),
		bold: has(bold), italic: has(italic), strike: has(strike), underline: c.Style.Underline != 0,
	}
	if has(reverse) {
		l.ink, l.paper = l.paper, l.ink
	}
	if has(faint) {
		l.ink = mix(l.ink, l.paper)
	}
	return l
}

func orElse(c color.Color, other color.RGBA) color.RGBA {
	if c == nil {
		return other
	}
	return color.RGBAModel.Convert(c).(color.RGBA)
}

// mix returns the colour halfway between two.
func mix(a, b color.RGBA) color.RGBA {
	half := func(a, b uint8) uint8 { return uint8((int(a) + int(b)) / 2) }
	return color.RGBA{half(a.R, b.R), half(a.G, b.G), half(a.B, b.B), 0xff}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func quoted(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
