package look

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
)

// auditTrail is one run of the command audit.
type auditTrail struct {
	*app.App
	file   string
	lock   string
	since  string
	sum    string
	output string
}

// Audit returns the audit command.
func Audit(a *app.App) *cobra.Command {
	r := &auditTrail{App: a}
	command := &cobra.Command{
		Use:   "audit [verify]",
		Short: "Show who acted on which lock, when, why, and with what outcome",
		Example: "  lockscope audit --since 24h\n" +
			"  lockscope audit --lock redis:lock:orders -o json\n" +
			"  lockscope audit verify --sum HEX",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "verify" {
				return app.Usagef("audit: unknown argument (only verify is possible)")
			}
			return nil
		},
		ValidArgs: []string{"verify"},
		RunE:      func(_ *cobra.Command, args []string) error { return r.run(len(args) == 1) },
	}
	flags := command.Flags()
	flags.StringVar(&r.file, "file", "", "the audit `FILE` (default: this user's)")
	flags.StringVar(&r.lock, "lock", "", "only actions on this `LOCK`")
	flags.StringVar(&r.since, "since", "", "only actions since `TIME`: a span such as 24h, or RFC 3339")
	flags.StringVar(&r.sum, "sum", "", "with verify: check that the line with the sum `HEX`, printed earlier, is still there")
	app.OutputFlag(command, &r.output, "text", "json")
	return command
}

func (r *auditTrail) run(verify bool) error {
	from, err := r.from()
	if err != nil {
		return err
	}
	if r.lock != "" {
		id, err := inspect.ParseID(r.lock)
		if err != nil {
			return err
		}
		r.lock = id.String()
	}
	if r.file == "" {
		if r.file, err = act.DefaultAuditPath(r.Getenv); err != nil {
			return err
		}
	}
	trail, err := act.ReadTrail(r.file)
	if err != nil {
		return app.Exitf(app.ExitUnreachable, "%w", err)
	}
	var records []act.Record
	for i := range trail.Records {
		if rec := &trail.Records[i]; !rec.At.Before(from) && (r.lock == "" || rec.Lock == r.lock) {
			records = append(records, *rec)
		}
	}
	if trail.Damaged > 0 {
		r.Say("%s: %d lines cannot be read", r.file, trail.Damaged)
	}
	if verify {
		return r.verify(records, trail)
	}
	if r.output == "json" {
		return r.PrintJSON(append([]act.Record{}, records...))
	}
	r.print(records)
	return nil
}

// from is the time of --since; zero without it.
func (r *auditTrail) from() (time.Time, error) {
	if r.since == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(r.since); err == nil && d >= 0 {
		return r.Now().Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, r.since)
	if err != nil {
		return at, app.Usagef("--since %q: use a span such as 24h, or a time such as 2026-11-22T09:00:00Z", r.since)
	}
	return at, nil
}

// verify reports actions without an outcome, unreadable lines, and lines that were changed, removed
// or moved.
func (r *auditTrail) verify(records []act.Record, trail act.Trail) error {
	unknown := 0
	for i := range records {
		if rec := &records[i]; rec.Outcome == "unknown" {
			unknown++
			r.print([]act.Record{*rec})
		}
	}
	for _, b := range trail.Breaks {
		fmt.Fprintln(r.Stdout, describe.Printable(fmt.Sprintf("%s line %d: %s", r.file, b.Line, b.What)))
	}
	if unknown+trail.Damaged+len(trail.Breaks) > 0 {
		return app.Exitf(app.ExitNo, "%s: %s of unknown outcome, %s unreadable, %s changed", r.file,
			describe.Count(unknown, "action"), describe.Count(trail.Damaged, "line"), describe.Count(len(trail.Breaks), "line"))
	}
	if r.sum != "" && !trail.Has(r.sum) {
		return app.Exitf(app.ExitNo,
			"%s: no line has the sum %s: lines were removed from its end, or the file was rewritten",
			r.file, inspect.Escape(r.sum))
	}
	if r.output == "text" {
		fmt.Fprintf(r.Stdout, "%d actions, each with its outcome\n", len(records))
		if trail.Last != "" {
			fmt.Fprintf(r.Stdout, "no line is changed, missing or moved; the last one has the sum %s\n", trail.Last)
		}
	}
	return nil
}

func (r *auditTrail) print(records []act.Record) {
	for i := range records {
		rec := &records[i]
		what := rec.Outcome
		if rec.Reason != "" {
			what += " (" + string(rec.Reason) + ")"
		}
		line := fmt.Sprintf("%s  %-7s  %-9s  %s  owner %s  by %s@%s", rec.At.UTC().Format(time.RFC3339), rec.Action,
			what, rec.Lock, rec.Owner, rec.User, rec.Host)
		for _, more := range [][2]string{
			{"sudo by", rec.Sudo},
			{"on", strings.Join(rec.Servers, ",")},
			{"confirmed", rec.Confirmed},
			{"why", rec.Why},
			{"detail", rec.Detail},
			{"error", rec.Error},
		} {
			if more[1] != "" {
				line += "  " + more[0] + " " + more[1]
			}
		}
		fmt.Fprintln(r.Stdout, describe.Printable(line))
	}
}
