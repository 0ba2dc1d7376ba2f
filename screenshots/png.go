package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"slices"
)

// writePNG draws an SVG and writes it with 256 colours, which is a third of the size and looks the same.
func writePNG(ctx context.Context, path string, svg []byte, zoom int) error {
	var errors bytes.Buffer
	convert := exec.CommandContext(ctx, "rsvg-convert", "-z", fmt.Sprint(zoom))
	convert.Stdin, convert.Stderr = bytes.NewReader(svg), &errors
	drawn, err := convert.Output()
	if err != nil {
		return fmt.Errorf("rsvg-convert: %w: %s", err, errors.String())
	}
	full, err := png.Decode(bytes.NewReader(drawn))
	if err != nil {
		return fmt.Errorf("rsvg-convert: %w", err)
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, reduce(full)); err != nil {
		return err
	}
	return os.WriteFile(path, small.Bytes(), 0o644)
}

// reduce gives a picture its 256 most frequent colours; the rest, of letters' edges, become the nearest of them.
func reduce(full image.Image) *image.Paletted {
	count := make(map[color.Color]int)
	b := full.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	p := make(color.Palette, 0, len(count))
	for c := range count {
		p = append(p, c)
	}
	slices.SortFunc(p, func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	out := image.NewPaletted(b, p[:min(256, len(p))])
	draw.Draw(out, b, full, b.Min, draw.Src)
	return out
}
