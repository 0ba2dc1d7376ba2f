package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/jsonform"
)

func (a *app) doctorCommand() *cobra.Command {
	var output, failOn string
	var allowPartial, access bool
	command := &cobra.Command{
		Use:   "doctor [TARGET…]",
		Short: "Say what is wrong with the locks, why, and what to do",
		Long: "doctor reads every lock and backend once, looks again at what may only be passing, and reports each problem: what\n" +
			"was found, the evidence, and what to do. What could not be seen is listed at the end; it never counts as healthy.\n" +
			"Rules that need history do not run; the screen and watch run them. Given a recording in place of targets, it\n" +
			"reports the state at its end, by all rules.\n\n" +
			"Exit code 1: something at or above --fail-on was found; 3: nothing was, but something was refused or failed that\n" +
			"could hide a finding: a denied command or node, a missing root, a server that is down. --allow-partial accepts\n" +
			"what was seen, unless all of a backend is down.",
		Example: "  lockscope doctor zk://localhost:2181/locks redis://r1,r2,r3\n" +
			"  lockscope doctor -p prod --fail-on critical -o json | jq '.locks[] | {id, rules: [.findings[].rule]}'\n" +
			"  lockscope doctor --access redis://localhost\n" +
			"  lockscope doctor --stuck-after 1m zk://localhost\n" +
			"  lockscope doctor incident.jsonl.gz",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: completeTargetOrFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(output, "text", "json", "csv"); err != nil {
				return err
			}
			threshold := inspect.Severity(failOn).Rank()
			if threshold < 0 {
				return usageError("--fail-on %q: give info, warning or critical", failOn)
			}
			s, err := a.setUpLook(cmd.Context(), args)
			if err != nil {
				return err
			}
			if access {
				if output != "text" {
					return usageError("--access is printed as text only")
				}
				return a.accessOf(cmd.Context(), s, allowPartial)
			}
			var snapshot *inspect.Snapshot
			if s.recording == "" {
				look := func(before *inspect.Snapshot) (*inspect.Snapshot, error) {
					return a.lookAgain(cmd.Context(), s, before)
				}
				snapshot, err = lookTwice(cmd.Context(), look, inspect.SettleFor)
			} else { // what it ends with does not change
				snapshot, err = a.look(cmd.Context(), s, "")
			}
			if err != nil {
				return err
			}
			if err = a.printDiagnosis(snapshot, output, threshold, allowPartial); output == "text" && s.profile.ReadOnly {
				fmt.Fprint(a.Stdout, refusedHere(s.profileName, snapshot))
			}
			return err
		},
	}
	outputFlag(command, &output, "text", "json", "csv")
	command.Flags().StringVar(&failOn, "fail-on", "warning", "exit with 1 from this `SEVERITY` on: info, warning or critical")
	command.Flags().BoolVar(&allowPartial, "allow-partial", false, "do not exit with 3 because something was refused or failed")
	command.Flags().BoolVar(&access, "access", false, "say what this account can see and do, and the rights for viewing and for acting")
	complete(command, "fail-on", "info", "warning", "critical")
	return command
}

// printDiagnosis prints what was found; its error is the exit code.
func (a *app) printDiagnosis(s *inspect.Snapshot, output string, threshold int, allowPartial bool) error {
	found := diagnose(s)
	var err error
	switch output {
	case "json":
		err = jsonform.Write(a.Stdout, s)
	case "csv":
		err = writeCSV(a.Stdout, diagnosisCSV(s, found))
	default:
		_, err = fmt.Fprint(a.Stdout, report(s, found))
	}
	if err != nil {
		return err
	}
	quiet := *a
	if output == "text" && !blank(s) { // the report says it
		quiet.Stderr = io.Discard
	}
	failed := quiet.exitOfPartial(s, allowPartial)
	if slices.ContainsFunc(found, func(c complaint) bool { return c.Muted == nil && c.Severity.Rank() >= threshold }) {
		return exitError{code: exitNo}
	}
	return failed
}

// refusedHere is a line about a profile that is read_only and refuses what is advised; empty where nothing is
// that changes anything.
func refusedHere(profile string, s *inspect.Snapshot) string {
	for _, c := range diagnose(s) {
		for _, step := range c.Steps {
			if slices.Contains(changing(), string(step.Verb)) && c.Muted == nil {
				return fmt.Sprintf("\nprofile %q is read_only and refuses lockscope %s: that needs another profile (-p NAME)\n", profile, step.Verb)
			}
		}
	}
	return ""
}

// changing commands are refused by a profile that is read_only.
func changing() []string {
	return []string{"release", "sweep", "ask", "ttl", "kill-client", "acquire", "contend"}
}

// complaint is a finding and all that it stands on.
type complaint struct {
	inspect.Finding
	on []string // ids of locks, names of backends
}

// diagnose collects the findings of a snapshot, the worst first. The same one on several locks is one complaint.
func diagnose(s *inspect.Snapshot) []complaint {
	var all []complaint
	at := make(map[string]int)
	add := func(on string, fs []inspect.Finding) {
		for _, f := range fs {
			key := mutedKey(f.Muted) + f.Rule + "\x00" + string(f.Severity) + "\x00" + f.Message + "\x00" + f.Advice()
			i, known := at[key]
			if !known {
				i = len(all)
				at[key] = i
				all = append(all, complaint{Finding: f})
			}
			all[i].on = append(all[i].on, on)
		}
	}
	for _, b := range s.Backends {
		add("backend "+b.Name, b.Findings)
	}
	for l := range s.Locks() {
		add(l.ID.String(), l.Findings)
	}
	slices.SortStableFunc(all, func(a, b complaint) int {
		return cmp.Or(describe.WorstFirst(a.Finding, b.Finding), cmp.Compare(a.on[0], b.on[0]), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// mutedKey keeps findings that are muted apart from others.
func mutedKey(m *inspect.Muted) string {
	if m == nil {
		return ""
	}
	return m.Until.String() + m.Reason + m.By + "\x00"
}

// blind is the rule about what could not be seen.
const blind = "blind"

// report is the diagnosis as text: the answer first, then each finding, at last what could not be seen.
func report(s *inspect.Snapshot, found []complaint) string {
	var b, seen, unseen, muted strings.Builder
	counts := make(map[inspect.Severity]int)
	heading, mutes := inspect.Severity(""), 0
	for _, c := range found {
		text := c.text(enumerate(c.on)+"   "+c.Rule, s.TakenAt)
		if c.Muted != nil {
			fmt.Fprintf(&muted, "%s    muted until %s by %s: %s\n", text, c.Muted.Until.UTC().Format(time.RFC3339), describe.Printable(c.Muted.By), describe.Printable(c.Muted.Reason))
			mutes++
			continue
		}
		if c.Rule == blind {
			unseen.WriteString(text)
			continue
		}
		if c.Severity != heading {
			heading = c.Severity
			fmt.Fprintf(&seen, "\n%s\n", strings.ToUpper(string(heading)))
		}
		counts[c.Severity]++
		seen.WriteString(text)
	}
	if blank(s) {
		return "nothing could be seen\n"
	}
	for _, backend := range s.Backends {
		if backend.State != inspect.Connected {
			fmt.Fprintf(&unseen, "  backend %s is %s\n    %s\n", backend.Name, backend.State, describe.Failure(backend))
			continue
		}
		for _, server := range backend.Servers {
			if silent(&server) {
				fmt.Fprintf(&unseen, "  backend %s, server %s is down\n    %s\n", backend.Name, inspect.Escape(server.Addr), describe.Printable(cmp.Or(server.Error, "it did not answer")))
			}
		}
	}
	apart := ""
	if mutes > 0 {
		apart = fmt.Sprintf(" (and %d muted)", mutes)
	}
	switch {
	case unseen.Len() > 0:
		fmt.Fprintf(&b, "%s in %s, partial view\n", tally(counts)+apart, describe.Count(s.Len(), "lock"))
	default:
		fmt.Fprintf(&b, "%s in %s\n", tally(counts)+apart, describe.Count(s.Len(), "lock"))
	}
	b.WriteString(seen.String())
	if unseen.Len() > 0 {
		b.WriteString("\nNOT SEEN\n" + unseen.String())
	}
	if mutes > 0 {
		b.WriteString("\nMUTED\n" + muted.String())
	}
	return b.String()
}

// blank reports whether no backend could be read at all.
func blank(s *inspect.Snapshot) bool {
	return s.Len() == 0 && !slices.ContainsFunc(s.Backends, func(b *inspect.Backend) bool { return b.State != inspect.Down })
}

// tally counts the findings in words, such as "2 critical, 1 warning".
func tally(counts map[inspect.Severity]int) string {
	var parts []string
	if n := counts[inspect.Critical]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d critical", n))
	}
	if n := counts[inspect.Warning]; n > 0 {
		parts = append(parts, describe.Count(n, "warning"))
	}
	if n := counts[inspect.Info]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d info", n))
	}
	if len(parts) == 0 {
		return "no problems found"
	}
	return strings.Join(parts, ", ")
}

// text is a complaint in a few lines below a head; at is the time of the look.
func (c complaint) text(head string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n    %s\n", head, describe.Printable(c.Message))
	if cause := describe.Why(&c.Finding); cause != "" {
		fmt.Fprintf(&b, "    why  %s\n", describe.Printable(cause))
	}
	if seen := evidence(c.Finding, at); seen != "" {
		fmt.Fprintf(&b, "    seen %s\n", seen)
	}
	if len(c.Steps) > 0 {
		fmt.Fprintf(&b, "    do   %s\n", advice(&c.Finding))
	}
	return b.String()
}

// advice has each command on a line of its own, with nothing behind it, so that it can be copied as it stands.
func advice(f *inspect.Finding) string {
	var lines []string
	for _, p := range f.Phrases() {
		lines = append(lines, describe.Printable(p.Text))
	}
	return strings.Join(lines, "\n         ")
}

// named limits the places that a complaint lists; it counts the rest.
const named = 4

func enumerate(on []string) string {
	if len(on) <= named {
		return strings.Join(on, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(on[:named], ", "), len(on)-named)
}

// evidence words the evidence of a finding, but for its cause, and the confidence of one that is not certain.
func evidence(f inspect.Finding, at time.Time) string {
	var parts []string
	for _, fact := range describe.Evidence(f.Evidence, at, "cause") {
		parts = append(parts, fact.Name+" "+strings.Join(fact.Values, ", "))
	}
	text := strings.Join(parts, "; ")
	if f.Confidence != "" && f.Confidence != "certain" {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, f.Confidence))
	}
	return text
}
