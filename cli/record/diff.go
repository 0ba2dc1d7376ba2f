package record

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
)

// Diff returns the diff command.
func Diff(a *app.App) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changed between two recordings, or two moments of one",
		Long: "diff compares two moments: which locks appeared or disappeared, who acquired, released, queued or\n" +
			"left, and which findings are new or gone. A and B are recordings, compared at their\n" +
			"end or, as FILE@TIME, that long after their beginning. A change that was undone in between does not\n" +
			"show. Backends that are missing at one of the two moments are named, not compared.",
		Example: "  lockscope diff before.jsonl after.jsonl\n" +
			"  lockscope diff incident.jsonl@0s incident.jsonl@10m -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return app.Usagef("diff needs two recordings, A and B")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			from, err := momentOf(a, args[0])
			if err != nil {
				return err
			}
			to, err := momentOf(a, args[1])
			if err != nil {
				return err
			}
			if output == "json" {
				return a.PrintJSON(jsonform.Difference(from, to, args[0], args[1]))
			}
			_, err = fmt.Fprint(a.Stdout, differenceText(from, to))
			return err
		},
	}
	app.OutputFlag(command, &output, "text", "json")
	return command
}

// momentOf returns the final state of a recording or, for FILE@TIME, its state at that time since
// the start.
func momentOf(a *app.App, arg string) (*inspect.Snapshot, error) {
	path, text, ok := cutLast(arg, "@")
	if _, err := os.Stat(arg); err == nil || !ok {
		return a.LookAtRecording(arg)
	}
	at, err := time.ParseDuration(text)
	if err != nil || at < 0 {
		return nil, app.Usagef("%q: write a time since the beginning of the recording after the @, such as 90s", arg)
	}
	s, err := a.LookAtMoment(path, at)
	if err == nil && len(s.Backends) == 0 {
		err = app.Usagef("%q: nothing had been seen by then (use a later time)", arg)
	}
	return s, err
}

// cutLast cuts a text around the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// differenceText is the answer, then a line for each thing that changed.
func differenceText(from, to *inspect.Snapshot) string {
	list, skipped := inspect.Differences(from, to)
	head, lines := describe.Differences(list, skipped, false, nil)
	at := func(s *inspect.Snapshot) string { return s.TakenAt.UTC().Format(time.RFC3339) }
	text := fmt.Sprintf("%s from %s to %s\n", head, at(from), at(to))
	for _, line := range lines {
		text += line + "\n"
	}
	return text
}
