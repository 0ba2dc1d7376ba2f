package main

import "fmt"

// block is a block element: a rectangle in fractions of a cell. We draw these ourselves, as
// terminals do, since a font's glyphs do not meet at the cells' edges.
type block struct{ x, y, width, height, opacity float64 }

func (b block) shade() string {
	if b.opacity == 0 || b.opacity == 1 {
		return ""
	}
	return fmt.Sprintf(` fill-opacity="%g"`, b.opacity)
}

// blocks are the characters from U+2580 on that consist of one rectangle.
var blocks = blockElements()

func blockElements() map[string]block {
	list := map[string]block{
		"▀": {0, 0, 1, 0.5, 1}, "▐": {0.5, 0, 0.5, 1, 1}, "▔": {0, 0, 1, 0.125, 1}, "▕": {0.875, 0, 0.125, 1, 1},
		"░": {0, 0, 1, 1, 0.25}, "▒": {0, 0, 1, 1, 0.5}, "▓": {0, 0, 1, 1, 0.75},
	}
	for i, s := range []rune("▁▂▃▄▅▆▇█") {
		part := float64(i+1) / 8
		list[string(s)] = block{0, 1 - part, 1, part, 1}
	}
	for i, s := range []rune("▏▎▍▌▋▊▉") {
		list[string(s)] = block{0, 0, float64(i+1) / 8, 1, 1}
	}
	return list
}
