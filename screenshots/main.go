// Command screenshots makes the pictures of the program: it runs the program in a pseudo-terminal,
// types keys, waits for the expected text, and draws the terminal's cells as SVG, which
// rsvg-convert converts to PNG.
//
//	go run .             # all pictures, into this directory
//	go run . locks       # one of them
//	go run . -frames DIR # sheets from (cd .. && go test ./tui -args -frames DIR):
//	                     # each screen, dialog, size and colour mode
//
// Most pictures show a moment of tour.jsonl.gz, a recording of the demo, so they are reproducible.
// Pictures that need a running program are of the demo itself, and made only when named.
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
	"time"
)

// pictureTime bounds one picture; the slowest waits for an event in the demo.
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
	frames := flags.String("frames", "", "draw the frames in this directory, those of one screen on a sheet")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *frames != "" {
		return sheets(ctx, *frames, flags.Args(), out)
	}
	chosen, err := choose(pictures(), flags.Args())
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("rsvg-convert"); err != nil {
		return fmt.Errorf("%w: install librsvg2-bin", err)
	}
	s, err := newStudio(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(s.temp)
	for _, p := range chosen {
		start := time.Now()
		path, err := s.save(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-40s %4d kB  %5.1fs  %s\n", path, info.Size()/1000, time.Since(start).Seconds(), p.about)
	}
	return nil
}

// choose finds pictures by name; without names, all pictures of the recording.
func choose(list []picture, names []string) ([]picture, error) {
	var chosen []picture
	for _, p := range list {
		if slices.Contains(names, p.name) || len(names) == 0 && p.at > 0 {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(p picture) bool { return p.name == name }) {
			return nil, fmt.Errorf("no picture %q", name)
		}
	}
	return chosen, nil
}

// studio makes pictures; it owns the built program.
type studio struct {
	program, recording string
	quietFor           time.Duration // see terminal
	temp               string        // of the built program
}

func newStudio(ctx context.Context) (*studio, error) {
	temp, err := os.MkdirTemp("", "lockscope-screenshots-")
	if err != nil {
		return nil, err
	}
	s := &studio{program: filepath.Join(temp, "lockscope"), recording: "tour.jsonl.gz", quietFor: quiet, temp: temp}
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", s.program, "github.com/lockscope/lockscope").CombinedOutput(); err != nil {
		os.RemoveAll(temp)
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return s, nil
}

func (s *studio) save(ctx context.Context, p picture) (string, error) {
	if p.frames > 0 {
		return s.film(ctx, p)
	}
	drawing, err := s.draw(ctx, p)
	if err != nil {
		return "", err
	}
	pixels, err := rasterize(ctx, drawing, 2)
	if err != nil {
		return "", err
	}
	path := p.name + ".png"
	return path, writePNG(path, pixels)
}

func (s *studio) draw(ctx context.Context, p picture) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	args := p.args
	if p.at > 0 {
		args = []string{"replay", s.recording, "--at", p.at.String()}
	}
	t, err := start(s.program, args, p, s.quietFor)
	if err != nil {
		return nil, err
	}
	defer t.close()
	for _, step := range p.steps {
		if err := step(ctx, t); err != nil {
			return nil, err
		}
	}
	return t.svg("lockscope"), nil
}
