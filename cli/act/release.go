// Package act has the commands that act on other clients' locks. Each acts only while the servers
// still show the state that its preview showed.
package act

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/lockops/act"
)

// release is one run of the command release.
type release struct {
	lockAction
	others *act.Others // nil: not read
	// These are for release --match: a pattern of lock ids, a required finding or none, and the
	// maximum number.
	match, finding string
	max            int
}

func Release(a *app.App) *cobra.Command {
	r := &release{lockAction: lockAction{action: action{App: a, verb: "release"}}}
	command := &cobra.Command{
		Use:   "release LOCK [TARGET…] --owner NAME",
		Short: "Force-release a stuck lock, if its holder is still the one you saw",
		Example: "  lockscope release zk:/locks/orders zk://localhost --owner _c_7f3e…-lock-0000000602 --dry-run\n" +
			"  lockscope release redis:lock:orders redis://r1,r2,r3 --owner Y2NjY2NjY2NjY2NjY2NjYw== --yes\n" +
			"  lockscope release --match 'redis:job:*' --finding minority-leftover --max 20 redis://r1,r2,r3 --dry-run",
		Args: r.args, ValidArgsFunction: r.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.match != "" {
				return r.runBulk(cmd.Context(), args)
			}
			if r.finding != "" || cmd.Flags().Changed("max") {
				return app.Usagef("--finding and --max go with --match: without it one lock is released, " +
					"by its --owner")
			}
			return r.run(cmd.Context(), args)
		},
	}
	flags := command.Flags()
	r.flags(command)
	flags.StringVar(&r.match, "match", "", "release many: the holder of each lock whose id matches `PATTERN`, a SCAN "+
		"pattern")
	flags.StringVar(&r.finding, "finding", "", "with --match: only locks with the finding `NAME`, and the contender "+
		"it names")
	flags.IntVar(&r.max, "max", 0, "with --match: release at most this many locks; if more match, release none")
	flags.BoolVar(&r.waiter, "waiter", false, "allow removing a contender that only waits")
	flags.BoolVar(&r.twoLeaders, "yes-two-leaders", false,
		"allow forcing out a leader that does not notice the release: it leads until restarted")
	return command
}

func (r *release) run(ctx context.Context, args []string) error {
	if err := r.prepare(ctx, args); err != nil {
		return err
	}
	return r.perform(ctx, r)
}

// look implements guarded. An interactive preview includes the effects on other locks.
func (r *release) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	if err := r.preview(ctx, all); err != nil {
		return false, err
	}
	if r.dryRun || !r.yes {
		if err := r.consider(ctx, all); err != nil {
			return false, err
		}
		r.others = &r.seen.Others
	}
	return r.judged()
}

// consider finds the release's effects on other locks. If this look shows a holder that the preview
// missed, it previews again.
func (r *release) consider(ctx context.Context, all *app.Releasers) error {
	if r.seen.Seen == nil {
		return nil
	}
	looking, cancel := context.WithTimeout(ctx, app.OthersWithin)
	defer cancel()
	s, err := r.App.Look(looking, r.setup, "")
	if err != nil || looking.Err() != nil {
		s = nil
	}
	if s != nil && r.seen.Refused == act.NotHolder {
		if l := s.Lock(r.request.ID); l != nil {
			if c, ok := l.Contender(r.seen.Seen.Name); ok && c.State == inspect.Holding {
				r.request.Lock = l
				if err := r.preview(ctx, all); err != nil {
					return err
				}
			}
		}
	}
	r.seen.Consider(s)
	return nil
}

// show implements guarded.
func (r *release) show(to io.Writer) { r.showRelease(to, r.seen) }

func (r *release) showRelease(to io.Writer, p act.Preview) {
	r.showOwner(to, &p)
	showNext(to, &p)
	listed(to, "sends", p.Sends)
	listed(to, "others", p.Others.Lines())
	listed(to, "note", p.Warnings)
}

// confirm implements guarded.
func (r *release) confirm() (how string, err error) { return r.agreeTo("release it", r.show) }

// ReleaseJSON is the output of the contract.
type ReleaseJSON struct {
	Released bool `json:"released"`
	outcomeJSON
	afterJSON
	Masters []releaseMaster `json:"masters"`
	Others  *ReleaseOthers  `json:"others"`
}

// ReleaseOthers are a release's effects on other locks.
type ReleaseOthers struct {
	Read     bool         `json:"read"`
	Known    bool         `json:"known"`
	Holds    []string     `json:"holds"`
	Waits    []string     `json:"waits"`
	Deadlock act.Deadlock `json:"deadlock"`
	// NotGiven are the kinds of servers without a target, where a deadlock would go unseen.
	NotGiven []inspect.BackendKind `json:"not_given,omitempty"`
}

type releaseMaster struct {
	Addr    string `json:"addr"`
	Deleted bool   `json:"deleted"`
	// Ended says how the contender left a master that reported no deletion.
	Ended act.Ended `json:"ended,omitempty"`
	Error string    `json:"error"`
}

// report implements guarded.
func (r *release) report(stopped act.Reason, err error) error {
	json, print := func() any { return r.json(r.result) }, func() { r.print(r.request, r.result) }
	return r.answer(stopped, err, json, print, "not released")
}

func (r *release) json(result act.Result) ReleaseJSON {
	j := ReleaseJSON{
		Released: result.Released, outcomeJSON: r.outcome(result.Unknown, result.Reason, result.Detail),
		afterJSON: r.after(&result),
		Masters:   []releaseMaster{},
	}
	if o := r.others; o != nil {
		j.Others = &ReleaseOthers{
			Read: o.Read, Known: o.Known, Holds: idStrings(o.Holds), Waits: idStrings(o.Waits),
			Deadlock: o.Deadlock, NotGiven: o.NotGiven,
		}
	}
	for _, m := range result.Masters {
		j.Masters = append(j.Masters,
			releaseMaster{Addr: m.Addr, Deleted: m.Deleted, Ended: m.Ended, Error: errorText(m.Err)})
	}
	return j
}

func idStrings(ids []inspect.ID) []string {
	return each.Of(ids, inspect.ID.String)
}

func (r *release) print(request act.Request, result act.Result) {
	for _, m := range result.Masters {
		answer := "not asked"
		switch {
		case m.Ended != "":
			answer = fmt.Sprintf("%s (%s)", m.Ended.Words(), inspect.Escape(m.Err.Error()))
		case m.Err != nil:
			answer = inspect.Escape(m.Err.Error())
		case m.Deleted:
			answer = "deleted"
		case m.Lacked:
			answer = "had a different value, or none"
		}
		fmt.Fprintf(r.Stdout, "%s  %s\n", m.Addr, answer)
	}
	switch {
	case result.Unknown:
		fmt.Fprintf(r.Stdout, "unknown whether %s was released\n", request.ID)
	case result.Released && len(result.HoldersAfter) == 0:
		fmt.Fprintf(r.Stdout, "released %s; it has no holder now\n", request.ID)
	case result.Released:
		again := ""
		if result.Detail != "" {
			again = " (" + inspect.Escape(result.Detail) + ")"
		}
		fmt.Fprintf(r.Stdout, "released %s; now held by %s%s\n", request.ID, result.HoldersAfter[0].Who(), again)
	}
}
