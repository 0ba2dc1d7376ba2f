package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// summarize prints, as Markdown, what came of the mutants of each part of the table, by the outputs of
// earlier runs: the newest verdict on a mutant counts. What none of them ran is counted as well, and what was
// not killed is named.
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
	type row struct{ all, killed, equal, survived, unrun int }
	var parts, rest []string
	rows, total := make(map[string]*row), &row{}
	for _, m := range all {
		part, _, _ := strings.Cut(filepath.Base(m.where), ".")
		if rows[part] == nil {
			parts, rows[part] = append(parts, part), &row{}
		}
		for _, r := range []*row{rows[part], total} {
			r.all++
			switch {
			case m.equivalent != "":
				r.equal++
			case verdicts[m.name] == dead:
				r.killed++
			case verdicts[m.name] == "":
				r.unrun++
			default:
				r.survived++
			}
		}
		switch {
		case m.equivalent != "":
			rest = append(rest, fmt.Sprintf("- %s: %s.", m.name, m.equivalent))
		case verdicts[m.name] != dead && verdicts[m.name] != "":
			rest = append(rest, fmt.Sprintf("- %s: **%s**.", m.name, strings.ToLower(verdicts[m.name])))
		}
	}
	fmt.Fprintln(w, "| part | changes | killed | make no difference | not killed | not run |\n|---|---|---|---|---|---|")
	for _, part := range append(parts, "all") {
		r := total
		if part != "all" {
			r = rows[part]
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d |\n", part, r.all, r.killed, r.equal, r.survived, r.unrun)
	}
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
