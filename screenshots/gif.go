package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/gif"
	"os"
	"time"
)

// film makes a GIF of successive moments of a picture.
func (s *studio) film(ctx context.Context, p picture) (string, error) {
	var pictures []image.Image
	for n := range p.frames {
		moment := p
		moment.at += time.Duration(n) * p.every
		drawing, err := s.draw(ctx, moment)
		if err != nil {
			return "", fmt.Errorf("frame %d: %w", n, err)
		}
		pixels, err := rasterize(ctx, drawing, 1)
		if err != nil {
			return "", err
		}
		pictures = append(pictures, pixels)
	}
	palette := commonest(pictures...)
	out := gif.GIF{}
	var before *image.Paletted
	for _, pixels := range pictures {
		frame := reduce(pixels, palette)
		out.Image = append(out.Image, changed(before, frame))
		out.Delay = append(out.Delay, int(p.every/(10*time.Millisecond)))
		before = frame
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &out); err != nil {
		return "", err
	}
	path := p.name + ".gif"
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// changed returns the smallest part of a frame with all differences from the previous one.
func changed(before, is *image.Paletted) *image.Paletted {
	if before == nil {
		return is
	}
	var differs image.Rectangle
	b := is.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if is.ColorIndexAt(x, y) != before.ColorIndexAt(x, y) {
				differs = differs.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if differs.Empty() {
		differs = image.Rect(b.Min.X, b.Min.Y, b.Min.X+1, b.Min.Y+1) // a GIF has no empty frames
	}
	return is.SubImage(differs).(*image.Paletted)
}
