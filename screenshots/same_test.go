package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli"
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "write the checksums of the drawings")

// asProgram in its environment makes the test's own binary the program that is drawn.
const asProgram = "LOCKSCOPE_SCREENSHOTS_PROGRAM=1"

func TestMain(m *testing.M) {
	name, value, _ := strings.Cut(asProgram, "=")
	if os.Getenv(name) == value {
		os.Exit(cli.Main(context.Background(), os.Args[1:], app.OS()))
	}
	os.Exit(m.Run())
}

// A picture of the recording is the same each time, and the same as the one checked in. If a screen
// has changed, run this test with -update, and then make shots.
func TestPicturesAreTheSame(t *testing.T) {
	program := must.Have(os.Executable())(t)
	s := &studio{program: program, recording: "tour.jsonl.gz", quietFor: 750 * time.Millisecond}
	chosen := must.Have(choose(pictures(), []string{"locks", "chain", "redlock", "plain"}))(t)
	sums := make([]string, len(chosen))
	var drawing sync.WaitGroup
	for i, p := range chosen {
		p.env = append(p.env, asProgram)
		drawing.Go(func() {
			first, err := s.draw(t.Context(), p)
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
				return
			}
			again, err := s.draw(t.Context(), p)
			if err != nil {
				t.Errorf("%s, again: %v", p.name, err)
				return
			}
			if !bytes.Equal(first, again) {
				t.Errorf("%s differs the second time:\n%s", p.name, difference(first, again))
			}
			sums[i] = fmt.Sprintf("%x  %s.svg\n", sha256.Sum256(first), p.name)
		})
	}
	drawing.Wait()
	if t.Failed() {
		return
	}
	path, got := filepath.Join("testdata", "drawings.sha256"), strings.Join(sums, "")
	if *update {
		must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Have(os.ReadFile(path))(t)
	if got != string(want) {
		t.Errorf("the pictures differ from those checked in: run this test with -update, and make shots\ngot\n%swant\n%s", got, want)
	}
}

// difference returns the first differing line of two drawings.
func difference(a, b []byte) string {
	was, is := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i, was[i], is[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(was), len(is))
}
