// Command mutants breaks the locks on purpose, one small change at a time, and makes sure that a test notices each. A
// mutant that survives is a missing test.
//
// The changes are in table/*.txt. They are made in a copy, which the compiler is shown in place of the file (go test
// -overlay); the tree is never touched. Run from the module's root:
//
//	go run ./internal/mutants [-only REGEXP] [-list]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// limit is how long the tests of one mutant may run; one that hangs is dead.
const limit = 2 * time.Minute

func main() {
	only := flag.String("only", "", "run the mutants whose name or file matches this regular expression")
	list := flag.Bool("list", false, "show the mutants and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, list bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := readTable("internal/mutants/table")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var count, killed, equal int
	var bad []string
	for _, m := range all {
		if !pattern.MatchString(m.name) && !pattern.MatchString(m.file) {
			continue
		}
		count++
		if list {
			fmt.Printf("%-45s %s\n", m.name, m.file)
			continue
		}
		if m.equivalent != "" {
			equal++
			fmt.Printf("equal     %s: %s\n", m.name, m.equivalent)
			continue
		}
		began := time.Now()
		verdict, err := m.judge(ctx, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%-9s %s (%s, %.1f s)\n", verdict, m.name, m.tests, time.Since(began).Seconds())
		if verdict == dead {
			killed++
		} else {
			bad = append(bad, m.name)
		}
	}
	fmt.Printf("%d mutants: %d killed, %d change nothing, %d not killed\n", count, killed, equal, len(bad))
	if len(bad) > 0 {
		return fmt.Errorf("not killed: %s", strings.Join(bad, ", "))
	}
	return nil
}

// The verdicts on a mutant.
const (
	dead     = "killed"
	survived = "SURVIVED"
	unbuilt  = "NO BUILD"
)

// judge runs the tests that are to kill a mutant.
func (m *mutant) judge(ctx context.Context, dir string) (string, error) {
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
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*limit) // the build comes first
	defer cancel()
	args := []string{"test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", limit.String(), "-run", m.pattern(), m.pkg}
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	switch {
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		fmt.Fprintf(os.Stderr, "%s\n", out)
		return unbuilt, nil
	case strings.Contains(string(out), "no tests to run"):
		return "", fmt.Errorf("no test is called %s in %s", m.tests, m.pkg)
	case err == nil:
		return survived, nil
	case ctx.Err() != nil:
		return dead, context.Cause(ctx)
	}
	return dead, nil
}
