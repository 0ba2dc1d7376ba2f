package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Verdicts of the summary, in addition to those of a run.
const (
	equal = "equal"
	unrun = "unrun"
)

// summarize prints the verdicts from earlier runs' outputs as a Markdown table, with a row for each
// part of the mutant table. The newest verdict on a mutant counts. Mutants that no run tested are
// counted as well, and those that were not killed are named.
func summarize(w io.Writer, all []*mutant, outputs ...string) error {
	verdicts := make(map[string]string)
	for _, file := range outputs {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		err = readVerdicts(f, verdicts)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	var parts, rest []string
	counts := make(map[string]map[string]int) // by part and verdict
	for _, m := range all {
		part, _, _ := strings.Cut(filepath.Base(m.where), ".")
		if counts[part] == nil {
			parts, counts[part] = append(parts, part), make(map[string]int)
		}
		verdict := verdicts[m.name]
		switch {
		case m.equivalent != "":
			verdict = equal
			rest = append(rest, fmt.Sprintf("- %s: %s.", m.name, m.equivalent))
		case verdict == "":
			verdict = unrun
		case verdict != dead:
			rest = append(rest, fmt.Sprintf("- %s: **%s**.", m.name, strings.ToLower(verdict)))
			verdict = survived
		}
		counts[part][verdict]++
	}
	fmt.Fprintln(w, "| part | changes | killed | make no difference | not killed | not run "+
		"|\n|---|---|---|---|---|---|")
	total := make(map[string]int)
	print := func(part string, n map[string]int) {
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d |\n", part, n[dead]+n[equal]+n[survived]+n[unrun], n[dead],
			n[equal], n[survived], n[unrun])
	}
	for _, part := range parts {
		print(part, counts[part])
		for verdict, n := range counts[part] {
			total[verdict] += n
		}
	}
	print("all", total)
	if len(rest) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(rest, "\n"))
	}
	return nil
}

// readVerdicts reads the output of a run: "VERDICT NAME (TESTS, SECONDS s…)" of each mutant.
func readVerdicts(r io.Reader, verdicts map[string]string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		for _, verdict := range []string{dead, survived, unbuilt} {
			if rest, ok := strings.CutPrefix(lines.Text(), verdict+" "); ok {
				if end := strings.LastIndex(rest, " ("); end > 0 {
					verdicts[strings.TrimSpace(rest[:end])] = verdict
				}
			}
		}
	}
	return lines.Err()
}
