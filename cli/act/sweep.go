package act

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops/act"
)

// sweep is one run of the command sweep.
type sweep struct {
	action
	id      inspect.ID // its path is the root
	on      connect.Target
	idle    time.Duration
	max     int
	sweeper act.Sweeper
	seen    act.SweepPreview
	items   []sweptItem
	outcome act.Reason // why the first failed one was not deleted, or why none was
	detail  string
}

// sweptItem is one directory that the sweep tried to delete.
type sweptItem struct {
	dir    act.EmptyDir
	result act.Result
	err    error
}

// Sweep returns the sweep command.
func Sweep(a *app.App) *cobra.Command {
	r := &sweep{action: action{App: a, verb: "sweep"}}
	command := &cobra.Command{
		Use:   "sweep ROOT [TARGET…]",
		Short: "Delete the empty directories that locks in ZooKeeper left behind",
		Long: "Delete the directories below ROOT (BACKEND:PATH) that once had children, have no children or data\n" +
			"now, and have not changed for --idle. Each is deleted only if unchanged since it was checked. ROOT itself\n" +
			"stays, and so do directories that this empties. For leftovers of failed attempts on Redis masters, use\n" +
			"release --match --finding minority-leftover.",
		Example: "  lockscope sweep zk:/locks/orders zk://localhost --idle 24h --max 1000 --dry-run\n" +
			"  lockscope sweep zk:/locks -p production --idle 168h --max 200 --reason OPS-7 --yes",
		Args: app.RootFirst, ValidArgsFunction: a.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.flags(command)
	flags := command.Flags()
	flags.DurationVar(&r.idle, "idle", 24*time.Hour, "only directories that have not changed for this long")
	flags.IntVar(&r.max, "max", 0, "delete at most this many directories; if there are more, delete none")
	return command
}

func (r *sweep) run(ctx context.Context, args []string) error {
	switch {
	case r.idle < time.Minute:
		return app.Usagef("--idle %v: use a minute or more, such as 24h", r.idle)
	case r.max == 0:
		return app.Usagef("--max is required: the maximum number of directories, from 1 to %d", mostAtOnce)
	case r.max < 1 || r.max > mostAtOnce:
		return app.Usagef("--max %d: use 1 to %d directories", r.max, mostAtOnce)
	}
	var err error
	if r.id, r.on, err = r.target(ctx, args); err != nil {
		return err
	}
	if r.on.Service != connect.ZooKeeper {
		return app.Usagef("backend %s: only ZooKeeper has directories (for leftovers in Redis: "+
			"release --match --finding minority-leftover)", r.id.Backend)
	}
	return r.perform(ctx, r)
}

// look implements guarded.
func (r *sweep) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	if r.sweeper, err = all.Sweeper(ctx, r.id.Backend); err != nil {
		return false, r.setup.Explain(err)
	}
	r.seen, err = r.sweeper.PreviewSweep(ctx, act.SweepRequest{
		Root: r.id, Idle: r.idle, Now: r.Now(), Backend: r.dating(ctx), Within: r.Timeout, Why: r.action.reason,
	})
	if err != nil {
		return false, r.setup.Explain(err)
	}
	if n := len(r.seen.Found); n > r.max {
		r.outcome, r.detail = TooMany,
			fmt.Sprintf("%d directories are empty and idle, more than --max %d: nothing was done", n, r.max)
		return false, nil
	}
	return len(r.seen.Found) > 0 || r.dryRun, nil
}

// dating reads how the servers' clock compares with ours; nil if it cannot be read.
func (r *sweep) dating(ctx context.Context) *inspect.Backend {
	looking, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	one := r.setup
	one.Targets = []connect.Target{r.on}
	s, err := r.App.Look(looking, one, r.id.Path)
	if err != nil {
		return nil
	}
	return s.Backend(r.id.Backend)
}

// show implements guarded.
func (r *sweep) show(to io.Writer) {
	for _, dir := range r.seen.Found {
		made := "made " + describe.Age(dir.Age) + " ago"
		if dir.AgeUnknown {
			made = "created at an unknown time"
		}
		fmt.Fprintf(to, "%s  %s, idle for %s or more\n", inspect.Escape(dir.Path), made, describe.Age(dir.Idle))
	}
	r.counts(to)
	if len(r.seen.Found) > 0 {
		fmt.Fprintln(to, "note: a client that creates its directory only once, such as a kazoo Lock, fails when it "+
			"comes back")
	}
}

// counts prints the number of directories found, and of those that stay.
func (r *sweep) counts(to io.Writer) {
	p := &r.seen
	fmt.Fprintf(to, "%s of %d znodes, empty and idle (--max %d)\n", describe.Count(len(p.Found), "directory"),
		p.Walked, r.max)
	for _, left := range []struct {
		count int
		why   string
	}{
		{p.Recent, "used within --idle"},
		{p.Undated, "last used at an unknown time"},
		{p.WithData, "with data"},
	} {
		if left.count > 0 {
			fmt.Fprintf(to, "kept: %d empty, %s\n", left.count, left.why)
		}
	}
	if p.WhyUndated != "" {
		fmt.Fprintf(to, "undated: %s\n", p.WhyUndated)
	}
	for _, unread := range p.Unread {
		fmt.Fprintf(to, "not read: %s\n", unread)
	}
}

// confirm implements guarded.
func (r *sweep) confirm() (how string, err error) {
	return r.agree(r.id.Path, fmt.Sprintf("delete these %d directories below it", len(r.seen.Found)),
		&r.seen.Request.Why, r.show)
}

// do implements guarded. It stops at the first directory that has changed.
func (r *sweep) do(ctx context.Context, confirmed string) error {
	for _, dir := range r.seen.Found {
		limited, cancel := context.WithTimeout(ctx, r.Timeout)
		result, err := r.sweeper.Sweep(limited, r.seen, dir, confirmed)
		cancel()
		r.items = append(r.items, sweptItem{dir, result, err})
		if err != nil || !result.Released {
			r.outcome, r.detail = result.Reason,
				inspect.Escape(dir.Path)+": "+cmp.Or(result.Detail, describe.Refusal(string(result.Reason)))
			return err
		}
	}
	return nil
}

// SweepJSON is the command's answer.
type SweepJSON struct {
	Found    int            `json:"found"`
	Max      int            `json:"max"`
	Swept    int            `json:"swept"`
	Walked   int            `json:"walked"`
	Recent   int            `json:"recent"`
	Undated  int            `json:"undated"`
	WithData int            `json:"with_data"`
	Unread   []string       `json:"unread"`
	Reason   act.Reason     `json:"reason"`
	Detail   string         `json:"detail"`
	DryRun   bool           `json:"dry_run"`
	Items    []emptyDirJSON `json:"items"`
}

type emptyDirJSON struct {
	Path      string     `json:"path"`
	Made      time.Time  `json:"made"`
	IdleSince time.Time  `json:"idle_since"`
	Tried     bool       `json:"tried"`
	Swept     bool       `json:"swept"`
	Unknown   bool       `json:"unknown"`
	Reason    act.Reason `json:"reason"`
}

// report implements guarded.
func (r *sweep) report(stopped act.Reason, err error) error {
	j := SweepJSON{
		Found: len(r.seen.Found), Max: r.max, Walked: r.seen.Walked, Recent: r.seen.Recent, Undated: r.seen.Undated,
		WithData: r.seen.WithData,
		Unread:   append([]string{}, r.seen.Unread...), Reason: cmp.Or(stopped, r.outcome), Detail: r.detail,
		DryRun: r.dryRun, Items: []emptyDirJSON{},
	}
	for i, dir := range r.seen.Found {
		one := emptyDirJSON{Path: inspect.Escape(dir.Path), Made: dir.Made.UTC(), IdleSince: dir.IdleSince.UTC()}
		if i < len(r.items) {
			result := &r.items[i].result
			one.Tried, one.Swept, one.Unknown, one.Reason = true, result.Released, result.Unknown, result.Reason
			if result.Released {
				j.Swept++
			}
		}
		j.Items = append(j.Items, one)
	}
	if r.output == "json" {
		if err := r.PrintJSON(j); err != nil {
			return err
		}
	} else if stopped == "" && !r.dryRun && err == nil && r.outcome != TooMany {
		if len(r.seen.Found) == 0 {
			r.counts(r.Stdout)
		}
		fmt.Fprintf(r.Stdout, "deleted %d of %s\n", j.Swept, describe.Count(j.Found, "directory"))
	}
	return r.verdict(act.Request{ID: r.id}, act.Result{Reason: j.Reason, Detail: j.Detail}, "stopped", err)
}
