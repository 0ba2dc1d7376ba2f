// Command mutants breaks the locks on purpose, one small change at a time, and makes sure that a test notices each. A
// mutant that survives is a missing test.
//
// The changes are in table/*.txt. They are made in a copy, which replaces the file for the compiler
// (go build -overlay); the tree is never touched. The tests first run without any change, since a
// test that already fails detects nothing. Later runs start with the quickest tests. Run from the
// module's root:
//
//	go run ./internal/mutants [-only REGEXP] [-p N] [-list] | tee RUN
//
// The outputs of several partial runs make one table:
//
//	go run ./internal/mutants -summary RUN…
//
// Apart from the table, it makes random changes in one package, and shows which of them the
// package's own tests notice:
//
//	go run ./internal/mutants -random N [-seed SEED] -pkg ./inspect/metrics
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "run the mutants whose name or file matches this regular expression")
	list := flag.Bool("list", false, "show the mutants and run nothing")
	parallel := flag.Int("p", 2, "how many mutants to build and test at a time")
	summary := flag.Bool("summary", false,
		"run nothing: print a Markdown table of earlier runs, whose output files are the arguments")
	random := flag.Int("random", 0, "make this many random changes instead of those in the table")
	pkg := flag.String("pkg", "", "the package for random changes, such as ./inspect/metrics")
	seed := flag.Uint64("seed", 1, "seed of the random changes; the same seed makes the same changes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work := func() error { return run(ctx, *only, *list, *parallel) }
	if *random > 0 {
		work = func() error { return runRandom(ctx, *pkg, *random, *seed) }
	}
	if *summary {
		work = func() error {
			all, err := readTable(tableDir)
			if err != nil {
				return err
			}
			return summarize(os.Stdout, all, flag.Args()...)
		}
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

const tableDir = "internal/mutants/table"

func run(ctx context.Context, only string, list bool, parallel int) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := readTable(tableDir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all,
		func(m *mutant) bool { return !pattern.MatchString(m.name) && !pattern.MatchString(m.file) })
	if list {
		for _, m := range all {
			fmt.Printf("%-45s %s\n", m.name, m.file)
		}
		return nil
	}
	lab, err := newLab()
	if err != nil {
		return err
	}
	defer lab.close()
	var changing []*mutant
	for _, m := range all {
		if m.equivalent != "" {
			fmt.Printf("equal     %s: %s\n", m.name, m.equivalent)
			continue
		}
		changing = append(changing, m)
	}
	err = lab.judgeAll(ctx, changing, parallel)
	bad := lab.bad
	fmt.Printf("%d mutants: %d killed, %d change nothing, %d not killed\n",
		len(all), lab.killed, len(all)-len(changing), len(bad))
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("not killed: %s", strings.Join(bad, ", "))
	}
	return err
}

// judgeAll runs the tests of all mutants, the quickest first.
func (l *lab) judgeAll(ctx context.Context, mutants []*mutant, parallel int) error {
	for _, m := range mutants {
		if err := l.unchanged(ctx, m); err != nil {
			return err
		}
	}
	slices.SortStableFunc(mutants, func(a, b *mutant) int { return cmp.Compare(l.took[a.key()], l.took[b.key()]) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *mutant)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for m := range next {
				if err := l.judge(ctx, m); err != nil {
					cancel(fmt.Errorf("%s: %w", m.name, err))
				}
			}
		})
	}
	for _, m := range mutants {
		select {
		case next <- m:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// judge runs the tests that should kill a mutant, and counts it.
func (l *lab) judge(ctx context.Context, m *mutant) error {
	began := time.Now()
	verdict, why, tested, err := l.verdict(ctx, m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Printf("%-9s %s (%s, %.1f s, of which tests %.1f s)\n",
		verdict, m.name, m.tests, time.Since(began).Seconds(), tested.Seconds())
	if why != "" {
		fmt.Printf("          %s\n", why)
	}
	if verdict == dead {
		l.killed++
	} else {
		l.bad = append(l.bad, m.name)
	}
	return nil
}
