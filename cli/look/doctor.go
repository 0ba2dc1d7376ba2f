package look

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
)

// Doctor returns the doctor command.
func Doctor(a *app.App) *cobra.Command {
	var output, failOn string
	var allowPartial, access, quiet bool
	command := &cobra.Command{
		Use:   "doctor [TARGET…]",
		Short: "Report what is wrong with the locks, why, and what to do",
		Long: "doctor reads every lock and backend once, looks again a second later where needed, and reports each problem:\n" +
			"what was found, the evidence, and what to do. It lists at the end what it could not see; that never counts as healthy.\n" +
			"Rules that need history do not run; the screen and watch run them. With a recording instead of targets, it\n" +
			"reports the state at its end, and runs all rules.\n\n" +
			"Exit code 1: there is a finding at or above --fail-on. 3: there is none, but a refused or failed read could\n" +
			"hide one: a denied command or node, a missing root, a server that is down. With --allow-partial such reads do\n" +
			"not matter, unless a whole backend is down.",
		Example: "  lockscope doctor zk://localhost:2181/locks redis://r1,r2,r3\n" +
			"  lockscope doctor -p prod --fail-on critical -o json | jq '.locks[] | {id, rules: [.findings[].rule]}'\n" +
			"  lockscope doctor --access redis://localhost\n" +
			"  lockscope doctor --stuck-after 1m zk://localhost\n" +
			"  lockscope doctor incident.jsonl.gz",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: app.CompleteTargetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			threshold := inspect.Severity(failOn).Rank()
			if threshold < 0 {
				return app.Usagef("--fail-on %q: use info, warning or critical", failOn)
			}
			s, err := a.SetUpLook(cmd.Context(), args)
			if err != nil {
				return err
			}
			if access {
				if output != "text" {
					return app.Usagef("--access supports only -o text")
				}
				return accessOf(cmd.Context(), a, s, allowPartial)
			}
			var snapshot *inspect.Snapshot
			if s.Recording == "" {
				look := func(before *inspect.Snapshot) (*inspect.Snapshot, error) {
					return a.LookAgain(cmd.Context(), s, before)
				}
				snapshot, err = app.LookTwice(cmd.Context(), look, inspect.SettleFor)
			} else { // the end of a recording does not change
				snapshot, err = a.Look(cmd.Context(), s, "")
			}
			if err != nil {
				return err
			}
			if quiet && !fails(render.Diagnose(snapshot), threshold) {
				return exitOfPartial(a, snapshot, allowPartial)
			}
			if err = printDiagnosis(a, snapshot, output, threshold, allowPartial); output == "text" &&
				s.Profile.ReadOnly {
				fmt.Fprint(a.Stdout, refusedHere(s.ProfileName, snapshot))
			}
			return err
		},
	}
	app.OutputFlag(command, &output, "text", "json", "csv")
	command.Flags().StringVar(&failOn, "fail-on", "warning",
		"exit 1 at this `SEVERITY` or above: info, warning or critical")
	command.Flags().BoolVar(&allowPartial, "allow-partial", false,
		"do not exit with 3 because of refused or failed reads")
	command.Flags().BoolVar(&access, "access", false,
		"print what this account can see and do, and the ACL lines for viewing and for acting")
	command.Flags().BoolVar(&quiet, "quiet", false, "print only errors unless there is a finding at or above --fail-on")
	app.Complete(command, "fail-on", "info", "warning", "critical")
	return command
}

// printDiagnosis prints the findings; its error is the exit code.
func printDiagnosis(a *app.App, s *inspect.Snapshot, output string, threshold int, allowPartial bool) error {
	found := render.Diagnose(s)
	var err error
	switch output {
	case "json":
		err = jsonform.Write(a.Stdout, s)
	case "csv":
		err = render.WriteCSV(a.Stdout, render.DiagnosisCSV(s, found))
	default:
		_, err = fmt.Fprint(a.Stdout, render.Report(s, found))
	}
	if err != nil {
		return err
	}
	quiet := *a
	if output == "text" && !render.Blank(s) { // the report says so
		quiet.Stderr = io.Discard
	}
	failed := exitOfPartial(&quiet, s, allowPartial)
	if fails(found, threshold) {
		return app.ExitError{Code: app.ExitNo}
	}
	return failed
}

// fails reports whether a finding that is not muted reaches the threshold.
func fails(found []render.Complaint, threshold int) bool {
	return slices.ContainsFunc(found, func(c render.Complaint) bool {
		return c.Muted == nil && c.Severity.Rank() >= threshold
	})
}

// refusedHere is a line about a read_only profile that refuses an advised command. It is empty if
// no advised command changes anything.
func refusedHere(profile string, s *inspect.Snapshot) string {
	for _, c := range render.Diagnose(s) {
		for _, step := range c.Steps {
			if slices.Contains(changing(), string(step.Verb)) && c.Muted == nil {
				return fmt.Sprintf("\nprofile %q is read_only and refuses lockscope %s: use another "+
					"profile (-p NAME)\n", profile, step.Verb)
			}
		}
	}
	return ""
}

// changing lists the commands that a read_only profile refuses.
func changing() []string {
	return []string{"release", "sweep", "ask", "ttl", "kill-client", "acquire", "contend"}
}
