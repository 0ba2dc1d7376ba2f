package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// limit bounds the tests of one mutant; one that hangs counts as killed.
const limit = 2 * time.Minute

// The verdicts on a mutant.
const (
	dead     = "killed"
	survived = "SURVIVED"
	unbuilt  = "NO BUILD"
)

// lab builds and tests mutants.
type lab struct {
	dir   string
	built map[string]string        // the unchanged test program of each package
	took  map[string]time.Duration // how long the unchanged tests took, by mutant.key

	mu     sync.Mutex
	killed int
	bad    []string
}

func newLab() (*lab, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	return &lab{dir: dir, built: make(map[string]string), took: make(map[string]time.Duration)}, nil
}

func (l *lab) close() { os.RemoveAll(l.dir) }

// unchanged runs a mutant's tests without its change: they must pass.
func (l *lab) unchanged(ctx context.Context, m *mutant) error {
	if _, ok := l.took[m.key()]; ok {
		return nil
	}
	program, ok := l.built[m.pkg]
	if !ok {
		program = filepath.Join(l.dir, strings.ReplaceAll(m.pkg, "/", "-")+".test")
		if out, err := build(ctx, program, "", m.pkg); err != nil {
			return fmt.Errorf("%s: %w\n%s", m.pkg, err, out)
		}
		l.built[m.pkg] = program
	}
	began := time.Now()
	switch passed, out, err := test(ctx, program, m); {
	case err != nil:
		return err
	case !passed:
		return fmt.Errorf("%s of %s fails without any change\n%s", m.tests, m.pkg, out)
	}
	l.took[m.key()] = time.Since(began)
	return nil
}

// verdict builds a mutant, runs its tests and returns how long they took. why is the first
// complaint of the tests that noticed.
func (l *lab) verdict(ctx context.Context, m *mutant) (verdict, why string, tested time.Duration, err error) {
	dir, err := os.MkdirTemp(l.dir, "")
	if err != nil {
		return "", "", 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", "", 0, err
	}
	program := filepath.Join(dir, "test")
	if out, err := build(ctx, program, overlay, m.pkg); ctx.Err() != nil {
		return "", "", 0, context.Cause(ctx)
	} else if err != nil {
		return unbuilt, string(out), 0, nil
	}
	began := time.Now()
	passed, out, err := test(ctx, program, m)
	tested = time.Since(began)
	switch {
	case err != nil:
		return "", "", 0, err
	case passed:
		return survived, "", tested, nil
	}
	return dead, complaint(out), tested, nil
}

// complaints of tests: the line of a test, a panic, a data race.
var complaints = regexp.MustCompile(`(?m)^\s*(\w+_test\.go:\d+: .*|panic: .*|fatal error: .*|WARNING: DATA RACE)$`)

// complaint returns the first line of a failed run that names the failure, or else its last line.
func complaint(out []byte) string {
	if m := complaints.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// overlay writes the changed file and the list of replacements, and returns the list's path.
func (m *mutant) overlay(dir string) (string, error) {
	changed, err := m.apply(".")
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replacement, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(replacement, changed, 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// build makes a package's test program, without debugging information.
func build(ctx context.Context, program, overlay, pkg string) ([]byte, error) {
	return exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "-overlay", overlay, "-vet=off",
		"-ldflags=-s -w", pkg).CombinedOutput()
}

// test runs a mutant's tests in their package's directory, as many at once as make test; one that hangs has not passed.
func test(ctx context.Context, program string, m *mutant) (passed bool, out []byte, err error) {
	cmd := exec.CommandContext(ctx, program, "-test.failfast", "-test.parallel", "8", "-test.timeout", m.limit.String(),
		"-test.run", m.pattern())
	cmd.Dir = m.pkg
	out, err = cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, out, context.Cause(ctx)
	case strings.Contains(string(out), "no tests to run"):
		return false, out, fmt.Errorf("no test is called %s in %s", m.tests, m.pkg)
	case errors.As(err, &exit):
		return false, out, nil
	}
	return err == nil, out, err
}
