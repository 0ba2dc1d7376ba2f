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

// rasterize turns an SVG into pixels.
func rasterize(ctx context.Context, svg []byte, zoom int) (image.Image, error) {
	var errors bytes.Buffer
	convert := exec.CommandContext(ctx, "rsvg-convert", "-z", fmt.Sprint(zoom))
	convert.Stdin, convert.Stderr = bytes.NewReader(svg), &errors
	drawn, err := convert.Output()
	if err != nil {
		return nil, fmt.Errorf("rsvg-convert: %w: %s", err, errors.String())
	}
	full, err := png.Decode(bytes.NewReader(drawn))
	if err != nil {
		return nil, fmt.Errorf("rsvg-convert: %w", err)
	}
	return full, nil
}

// writePNG writes a picture with 256 colours, which is a third of the size and looks the same.
func writePNG(path string, full image.Image) error {
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, reduce(full, commonest(full))); err != nil {
		return err
	}
	return os.WriteFile(path, small.Bytes(), 0o644)
}

// commonest returns the 256 most frequent colours of pictures.
func commonest(pictures ...image.Image) color.Palette {
	count := make(map[color.Color]int)
	for _, p := range pictures {
		b := p.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				count[p.At(x, y)]++
			}
		}
	}
	p := make(color.Palette, 0, len(count))
	for c := range count {
		p = append(p, c)
	}
	slices.SortFunc(p, func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return p[:min(256, len(p))]
}

// reduce maps a picture to a palette. Other colours, from the edges of letters, become the
// nearest one.
func reduce(full image.Image, p color.Palette) *image.Paletted {
	out := image.NewPaletted(full.Bounds(), p)
	draw.Draw(out, full.Bounds(), full, full.Bounds().Min, draw.Src)
	return out
}
