// Command screenshots makes the pictures of the program: it runs the real one in a pseudo-terminal, types keys, waits for
// what should appear, and draws the terminal's cells as SVG, which rsvg-convert turns into PNG.
//
//	go run ./screenshots             # all pictures, into screenshots/
//	go run ./screenshots locks       # one of them
//
// It needs rsvg-convert (librsvg2-bin) and the font JetBrains Mono (fonts-jetbrains-mono).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pictureTime is how long one picture may take; the slowest waits for a master of the demo to stop.
const pictureTime = 90 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("screenshots", flag.ExitOnError)
	dir := flags.String("dir", "screenshots", "where the pictures go")
	zoom := flags.Int("zoom", 2, "pixels of the picture for each of the drawing's")
	keep := flags.Bool("svg", false, "keep the SVG files too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("rsvg-convert"); err != nil {
		return fmt.Errorf("%w: install librsvg2-bin", err)
	}
	program, clean, err := build(ctx)
	if err != nil {
		return err
	}
	defer clean()
	for _, p := range chosen {
		start := time.Now()
		png, err := take(ctx, program, p, *dir, *zoom, *keep)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		info, err := os.Stat(png)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-40s %4d kB  %5.1fs  %s\n", png, info.Size()/1000, time.Since(start).Seconds(), p.about)
	}
	return nil
}

// choose finds pictures by name, in the order of the list; without names, all of them.
func choose(names []string) ([]picture, error) {
	if len(names) == 0 {
		return pictures(), nil
	}
	var chosen []picture
	var known []string
	for _, p := range pictures() {
		known = append(known, p.name)
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no picture %q (there are: %s)", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// build compiles the program into a directory of its own, which clean removes.
func build(ctx context.Context) (program string, clean func(), err error) {
	dir, err := os.MkdirTemp("", "lockscope-screenshots-")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "lockscope")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "lockscope").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, func() { os.RemoveAll(dir) }, nil
}

// take plays a picture's script and writes the PNG, whose path it returns.
func take(ctx context.Context, program string, p picture, dir string, zoom int, keep bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	t, err := start(program, p)
	if err != nil {
		return "", err
	}
	defer t.close()
	for _, s := range p.steps {
		if err := s(ctx, t); err != nil {
			return "", err
		}
	}
	drawing, path := t.svg("lockscope "+strings.Join(p.args, " ")), filepath.Join(dir, p.name)
	if keep {
		if err := os.WriteFile(path+".svg", drawing, 0o644); err != nil {
			return "", err
		}
	}
	return path + ".png", writePNG(ctx, path+".png", drawing, zoom)
}
