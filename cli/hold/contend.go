package hold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
)

// contention is one run of contend.
type contention struct {
	lockChoice
	config contend.Config
	kinds  []lockops.Kind
	yes    bool
	output string
}

// Contend returns the contend command.
func Contend(a *app.App) *cobra.Command {
	q := &contention{lockChoice: lockChoice{App: a}}
	command := &cobra.Command{
		Use:   "contend LOCK [TARGET…] -n N",
		Short: "Let N contenders compete for a lock, and report how fast and how fair it is",
		Long: "contend lets N contenders, each with its own session, acquire a lock, hold it, release it and try\n" +
			"again. It reports the rate, the handoff and wait times, overtakes, and whether two ever held the lock\n" +
			"at once. Hold and think times depend only on the seed. The lock is created for the run and removed\n" +
			"afterwards. A run puts load on the servers; avoid production. Several kinds, as in --kind read,write,\n" +
			"are assigned in rotation.",
		Example: "  lockscope contend zk:/locks/try zk://localhost -n 8 --hold 10ms --think 5ms --for 30s\n" +
			"  lockscope contend zk:/locks/try zk://localhost -n 9 --kind read,read,write --for 30s\n" +
			"  lockscope contend redis:lock:try redis://localhost -n 8 --hold 10ms --think 5ms --rounds 100 -o json",
		Args: app.LockFirst, ValidArgsFunction: q.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error { return q.run(cmd.Context(), args) },
	}
	q.flags(command)
	flags := command.Flags()
	flags.IntVarP(&q.config.Contenders, "contenders", "n", 8, "number of contenders")
	flags.DurationVar(&q.config.Hold, "hold", 10*time.Millisecond, "mean time that each holds the lock")
	flags.DurationVar(&q.config.Think, "think", 10*time.Millisecond, "mean pause before each tries again")
	flags.DurationVar(&q.config.For, "for", 0, "stop after this time (default: 10s)")
	flags.IntVar(&q.config.Rounds, "rounds", 0, "stop when each has acquired the lock this many times")
	flags.Uint64Var(&q.config.Seed, "seed", 1, "seed of the hold and think times")
	flags.BoolVar(&q.yes, "yes", false, "allow a lock that already exists")
	app.OutputFlag(command, &q.output, "text", "json")
	return command
}

func (q *contention) run(ctx context.Context, args []string) error {
	if err := q.check(ctx, args); err != nil {
		return err
	}
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	target, err := q.lock(ctx)
	if err != nil {
		return q.setup.Explain(err)
	}
	run, err := contend.Start(ctx, target, q.config)
	switch {
	case ctx.Err() != nil && err != nil:
		return app.ExitError{Code: app.ExitInterrupted}
	case errors.Is(err, contend.ErrExists):
		return app.Exitf(app.ExitNo,
			"%s already exists and may be in use (choose another name, or use --yes)", q.id)
	case err != nil:
		return q.setup.Explain(app.Exitf(notTaken(err), "%s: %w%s", q.id, err, q.manyHint()))
	}
	q.watch(run)
	report, err := run.Wait()
	if q.output == "json" {
		if err := q.PrintJSON(contentionOf(report, q.id.String())); err != nil {
			return err
		}
	} else {
		q.printReport(report)
	}
	return q.verdict(report, err, ctx.Err() != nil)
}

// check parses the arguments and validates what needs no server.
func (q *contention) check(ctx context.Context, args []string) error {
	c := &q.config
	switch {
	case c.Contenders < 1 || c.Contenders > contend.MaxContenders:
		return app.Usagef("-n %d: use 1 to %d contenders", c.Contenders, contend.MaxContenders)
	case c.Hold < 0 || c.Think < 0:
		return app.Usagef("--hold %v --think %v: use 0 or more", c.Hold, c.Think)
	case c.For < 0 || c.Rounds < 0:
		return app.Usagef("--for %v --rounds %d: use more than 0", c.For, c.Rounds)
	case c.For > 0 && c.Rounds > 0:
		return app.Usagef("--for and --rounds: use one of them")
	}
	if c.For == 0 && c.Rounds == 0 {
		c.For = 10 * time.Second
	}
	c.Connect, c.Stall = q.Timeout, q.Timeout
	if err := q.choose(ctx, args); err != nil {
		return err
	}
	for name := range strings.SplitSeq(q.kind, ",") {
		kind, err := q.kindNamed(name)
		if err != nil {
			return err
		}
		q.kinds = append(q.kinds, kind)
	}
	return q.setup.MayWrite()
}

// lock is the lock for which the contenders compete.
func (q *contention) lock(ctx context.Context) (contend.Target, error) {
	site := contend.Site{
		Backend: q.id.Backend + ":", Name: q.id.Path, Kinds: q.kinds, Options: q.options(), Label: q.label,
		Existing: q.yes,
	}
	if q.target.Service == connect.ZooKeeper {
		recipe := cmp.Or(q.recipe, q.kinds[0].Recipes[0])
		if q.yes {
			var err error
			if recipe, err = q.chooseRecipe(ctx, q.kinds[0]); err != nil {
				return nil, err
			}
		}
		q.recipe = recipe
	}
	return q.contendTarget(ctx, site, q.recipe)
}

// manyHint names the likely cause when many sessions cannot connect.
func (q *contention) manyHint() string {
	if q.target.Service == connect.ZooKeeper && q.config.Contenders > 50 {
		return " (a server accepts maxClientCnxns connections per host, 60 by default: try a smaller -n)"
	}
	return ""
}

// watch shows the progress of the run, if standard error is a terminal.
func (q *contention) watch(run *contend.Run) {
	line := q.NewProgressLine()
	if line == nil {
		return
	}
	defer line.Clear()
	tick := time.NewTicker(app.ProgressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			line.Show(contentionProgress(run.Snapshot(), q.config))
		case <-run.Done():
			return
		}
	}
}

func contentionProgress(r contend.Report, c contend.Config) string {
	waiting := each.Count(r.Contenders, func(c contend.Contender) bool { return c.State == contend.Waiting })
	far := r.Duration.Round(100 * time.Millisecond).String()
	if c.For > 0 {
		far += " of " + c.For.String()
	}
	return fmt.Sprintf("%s: acquired %s, %.0f/s, handoff p50 %s, %d waiting, %s", far,
		describe.Times(int(r.Grants)), r.Rate(), inMilliseconds(r.Handoff.P50), waiting, count(r.Inversions, "inversion"))
}

// verdict is the exit code of a run: overlaps exit with 1, whatever else happened.
func (q *contention) verdict(r contend.Report, err error, interrupted bool) error {
	for _, left := range r.Left {
		q.Say("%s: left behind: %s (it is freed when its session or TTL ends)", q.id, left)
	}
	switch {
	case r.Overlaps > 0:
		return app.Exitf(app.ExitNo,
			"%s: MUTUAL EXCLUSION FAILED: %d of %s began while others held the lock (lost holds: %d)",
			q.id, r.Overlaps, count(r.Grants, "acquisition"), r.Lost)
	case errors.Is(err, contend.ErrStalled) && r.Failed == 0 && q.yes:
		return app.Exitf(app.ExitNo, "%w (see who holds it: %s)", err, q.setup.Command("show", q.id))
	case err != nil:
		return q.setup.Explain(app.Exitf(notTaken(err), "%w", err))
	case r.Grants == 0 && r.LastError != nil:
		return q.setup.Explain(app.Exitf(notTaken(r.LastError), "%s: never acquired: %w", q.id, r.LastError))
	case r.Grants == 0 && !interrupted:
		return app.Exitf(app.ExitNo, "%s: never acquired (see who holds it: %s)", q.id, q.setup.Command("show", q.id))
	}
	return nil
}
