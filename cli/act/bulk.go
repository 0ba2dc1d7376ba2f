package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/lockops/act"
)

// mostAtOnce bounds --max: no user reviews more locks than that.
const mostAtOnce = 1000

// bulk is one run of release --match. It previews, guards, releases, audits and reports each of
// many locks separately.
type bulk struct {
	*release
	items []*act.Item
	left  int // the number of matching locks that are left out
	all   *app.Releasers
	stop  act.Reason // why no lock is released; else empty
}

// args accepts a LOCK and targets or, with --match, only targets.
func (r *release) args(cmd *cobra.Command, args []string) error {
	if r.match != "" {
		return nil
	}
	return app.LockFirst(cmd, args)
}

func (r *release) runBulk(ctx context.Context, args []string) error {
	if err := r.checkBulk(); err != nil {
		return err
	}
	var err error
	if r.setup, err = r.SetUp(ctx, args); err != nil {
		return err
	}
	b := &bulk{release: r}
	return r.perform(ctx, b)
}

// look implements guarded.
func (b *bulk) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	b.all = all
	s, err := app.LookTwice(ctx, func(before *inspect.Snapshot) (*inspect.Snapshot, error) {
		return b.App.LookAgain(ctx, b.setup, before)
	}, inspect.SettleFor)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(s.Backends, app.Unseen) {
		return false, errors.Join(errors.New("some locks could not be read: nothing was done"),
			b.ExitOfStates(s.Backends))
	}
	b.choose(s)
	if b.left > 0 {
		b.Say("%d more skipped: possible locks, "+
			"or not held by exactly one client (see: lockscope ls)", b.left)
	}
	if n := len(b.items); n > b.max {
		b.stop = TooMany
		return false, fmt.Errorf("%d locks match, more than --max %d: nothing was done (narrow --match)", n, b.max)
	}
	if err := act.PreviewAll(ctx, b.releaserOf, s, b.items); err != nil {
		return false, b.setup.Explain(err)
	}
	if len(b.items) == 0 && b.output == "text" {
		b.show(b.Stdout)
	}
	return len(b.items) > 0, nil
}

// TooMany is the reason why release --match refuses more matching locks than --max.
const TooMany act.Reason = "too-many"

func (r *release) checkBulk() error {
	switch {
	case r.owner != "":
		return app.Usagef("--owner names one contender: give it, or --match")
	case r.waiter:
		return app.Usagef("--waiter goes with --owner: --match releases holders, " +
			"and leftovers by --finding minority-leftover")
	case r.twoLeaders:
		return app.Usagef("--yes-two-leaders goes with --owner: --match leaves out leaders that would still lead")
	case r.max == 0:
		return app.Usagef("--max is required: the maximum number of locks, from 1 to %d", mostAtOnce)
	case r.max < 1 || r.max > mostAtOnce:
		return app.Usagef("--max %d: use 1 to %d locks", r.max, mostAtOnce)
	case r.finding != "" && !slices.ContainsFunc(finding.Rules(),
		func(f inspect.Rule) bool { return f.Name == r.finding }):
		return app.Usagef("--finding %q: no such finding (docs/findings.md lists them)", r.finding)
	}
	return nil
}

// choose collects the matching locks and the contender to remove from each. It leaves out possible
// locks, and locks without a single contender to name.
func (b *bulk) choose(s *inspect.Snapshot) {
	for l := range s.Locks() {
		if !text.Glob(b.match, l.ID.String()) {
			continue
		}
		request := act.Request{ID: l.ID, Lock: l, Why: b.reason}
		if len(l.Holders) == 1 {
			request.Owner = l.Holders[0].Argument()
		}
		if b.finding != "" {
			at := slices.IndexFunc(l.Findings,
				func(f inspect.Finding) bool { return f.Rule == b.finding && f.Muted == nil })
			if at < 0 {
				continue
			}
			about := &l.Findings[at].Subject
			request.Owner = cmp.Or(inspect.Untrusted(about.Digest), about.Contender, request.Owner)
			request.Waiter = l.State == inspect.StateMinority
		}
		switch {
		case l.State == inspect.StateFree:
		case l.Confidence == recipe.Possible || request.Owner == "":
			b.left++
		default:
			b.items = append(b.items, &act.Item{Request: request})
		}
	}
}

// confirm implements guarded. The operator agrees to a number of locks.
func (b *bulk) confirm() (how string, err error) {
	n := len(b.items)
	does := fmt.Sprintf("release these %d locks, one after the other", n)
	how, err = b.agree(strconv.Itoa(n), does, &b.reason, b.show)
	for _, item := range b.items {
		item.Preview.Request.Why = b.reason
	}
	return how, err
}

// do implements guarded. It releases one lock after the other, until one deviates from its
// preview.
func (b *bulk) do(ctx context.Context, confirmed string) error {
	for _, item := range b.items {
		if !act.ExecuteItem(ctx, b.releaserOf, item, confirmed) {
			break
		}
	}
	return nil
}

// releaserOf implements act.Releasers.
func (b *bulk) releaserOf(backend string) (act.Releaser, bool) {
	releaser, ok := b.all.Of(backend)
	return limitedReleaser{releaser, &b.action}, ok
}

// show implements guarded.
func (b *bulk) show(to io.Writer) {
	for _, item := range b.items {
		if p := item.Preview; p.Refused != "" {
			fmt.Fprintf(to, "release %s\n  refused %s\n", item.Request.ID, b.why(p.Request, item.Result))
		} else {
			b.showRelease(to, p)
		}
	}
	fmt.Fprintf(to, "%d of at most %d locks\n", len(b.items), b.max)
}

// BulkJSON is the answer of release --match.
type BulkJSON struct {
	Matched  int            `json:"matched"`
	Max      int            `json:"max"`
	Released int            `json:"released"`
	Reason   act.Reason     `json:"reason"`
	DryRun   bool           `json:"dry_run"`
	Stopped  *string        `json:"stopped_at"`
	Items    []bulkItemJSON `json:"items"`
}

type bulkItemJSON struct {
	Lock  string `json:"lock"`
	Tried bool   `json:"tried"`
	Error string `json:"error"`
	ReleaseJSON
}

// report implements guarded: the exit code is 1 unless all of them were released.
func (b *bulk) report(stopped act.Reason, err error) error {
	reason := cmp.Or(stopped, b.stop)
	j := BulkJSON{Matched: len(b.items), Max: b.max, Reason: reason, DryRun: b.dryRun, Items: []bulkItemJSON{}}
	var failed error // the error of the first lock that was not released as shown
	for _, item := range b.items {
		one := bulkItemJSON{Lock: item.Request.ID.String(), Tried: item.Tried, ReleaseJSON: b.json(item.Result)}
		switch {
		case item.Result.Released && item.Err == nil:
			j.Released++
		case failed == nil && reason == "" && err == nil && !b.dryRun:
			j.Stopped, failed = new(one.Lock),
				b.verdict(item.Preview.Request, item.Result, "not released", b.setup.Explain(item.Err))
		}
		if item.Err != nil {
			one.Error = inspect.Escape(item.Err.Error())
		}
		j.Items = append(j.Items, one)
	}
	if b.output == "json" {
		if err := b.PrintJSON(j); err != nil {
			return err
		}
	} else if !b.dryRun && reason == "" {
		for _, item := range b.items {
			if item.Tried {
				b.print(item.Preview.Request, item.Result)
			}
		}
		fmt.Fprintf(b.Stdout, "released %d of %d\n", j.Released, j.Matched)
	}
	switch {
	case err != nil && reason != "":
		return app.Exitf(app.ExitNo, "%s: %w", reason, err)
	case err == nil && failed != nil:
		return fmt.Errorf("stopped at the first that differed from its preview: %w", failed)
	}
	return err
}
