package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/vt"
)

// frameName matches NAME-WxH-COLOURS.ans, as the golden tests of ./tui write frames.
var frameName = regexp.MustCompile(`^(.+)-(\d+)x(\d+)-(dark|light|16|none)\.ans$`)

// colours returns the colour modes, in their order on a sheet.
func colours() []string { return []string{"dark", "light", "16", "none"} }

// sheets draws the frames in a directory. For each screen and size, it puts all colour modes side
// by side in NAME-WxH.png.
func sheets(ctx context.Context, dir string, only []string, out io.Writer) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, e := range entries {
		parts := frameName.FindStringSubmatch(e.Name())
		if parts == nil {
			continue
		}
		sheet := parts[1] + "-" + parts[2] + "x" + parts[3]
		if done[sheet] || len(only) > 0 && !strings.Contains(" "+strings.Join(only, " ")+" ", " "+sheet+" ") {
			continue
		}
		done[sheet] = true
		width, _ := strconv.Atoi(parts[2])
		height, _ := strconv.Atoi(parts[3])
		path, err := drawSheet(ctx, dir, sheet, width, height)
		if err != nil {
			return fmt.Errorf("%s: %w", sheet, err)
		}
		fmt.Fprintln(out, path)
	}
	return nil
}

// drawSheet draws one screen in one size, in all colour modes.
func drawSheet(ctx context.Context, dir, sheet string, width, height int) (path string, err error) {
	var all *image.RGBA
	for i, way := range colours() {
		frame, err := os.ReadFile(filepath.Join(dir, sheet+"-"+way+".ans"))
		if err != nil {
			return "", err
		}
		t := &terminal{window: dark(), screen: vt.NewEmulator(width, height)}
		if way == "light" {
			t.window = light()
		}
		t.screen.SetDefaultBackgroundColor(t.background)
		t.screen.SetDefaultForegroundColor(t.foreground)
		if _, err := t.screen.Write([]byte(strings.ReplaceAll(strings.TrimSuffix(string(frame), "\n"), "\n", "\r\n"))); err != nil {
			return "", err
		}
		pixels, err := rasterize(ctx, t.svg(sheet+" "+way), 1)
		if err != nil {
			return "", err
		}
		size := pixels.Bounds().Size()
		if all == nil {
			all = image.NewRGBA(image.Rect(0, 0, 2*size.X, 2*size.Y))
		}
		at := image.Pt(i%2*size.X, i/2*size.Y)
		draw.Draw(all, image.Rectangle{at, at.Add(size)}, pixels, image.Point{}, draw.Over)
	}
	var drawn bytes.Buffer // with all colours, since four modes exceed a palette
	if err := png.Encode(&drawn, all); err != nil {
		return "", err
	}
	path = filepath.Join(dir, sheet+".png")
	return path, os.WriteFile(path, drawn.Bytes(), 0o600)
}
