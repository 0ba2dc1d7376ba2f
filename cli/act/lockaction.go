package act

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/lockops/act"
)

// lockAction is an action on one contender of a lock, by the releaser of its backend. Types that
// embed it add how it is shown, confirmed and reported.
type lockAction struct {
	action
	owner  string
	waiter bool
	// twoLeaders means that the operator accepts that the former leader may still lead.
	twoLeaders bool
	request    act.Request
	releaser   act.Releaser
	seen       act.Preview
	result     act.Result // the preview's result until the action is executed
}

// flags adds the flags of every command on one contender.
func (r *lockAction) flags(command *cobra.Command) {
	command.Flags().StringVar(&r.owner, "owner", "",
		"the contender's `NAME` as ls or show prints it, or its value_digest")
	r.action.flags(command)
	_ = command.RegisterFlagCompletionFunc("owner", r.CompleteOwner) // fails only for a missing flag
}

// prepare makes the request from the arguments and the flags.
func (r *lockAction) prepare(ctx context.Context, args []string) error {
	if r.owner == "" {
		words, _ := describe.Words(args)
		return app.Usagef("--owner is missing: name the contender as you saw it (see: lockscope show %s)", words)
	}
	owner, err := inspect.Unescape(r.owner)
	if err != nil {
		return app.Usagef("--owner: %w", err)
	}
	id, _, err := r.target(ctx, args)
	if err != nil {
		return err
	}
	r.request = act.Request{ID: id, Owner: inspect.Untrusted(owner), Waiter: r.waiter, Why: r.reason}
	r.request.Elects, r.request.TwoLeaders = inspect.ExpectsElection(r.setup.Expectations(), id), r.twoLeaders
	return nil
}

// look implements guarded.
func (r *lockAction) look(ctx context.Context, all *app.Releasers) (may bool, err error) {
	if err := r.preview(ctx, all); err != nil {
		return false, err
	}
	return r.judged()
}

// preview adds what the servers report about the contender.
func (r *lockAction) preview(ctx context.Context, all *app.Releasers) (err error) {
	r.releaser, _ = all.Of(r.request.ID.Backend)
	r.seen, err = r.previewOf(ctx, r.releaser, r.request)
	r.result = act.Result{Seen: r.seen.Seen}
	return r.setup.Explain(err)
}

// judged decides by the preview whether look succeeds.
func (r *lockAction) judged() (may bool, err error) {
	r.result = act.Result{Seen: r.seen.Seen, Next: r.seen.Next, Reason: r.seen.Refused, Detail: r.seen.Detail}
	if r.seen.Refused != "" {
		return false, r.misnamed(r.seen)
	}
	return true, nil
}

// do implements guarded.
func (r *lockAction) do(ctx context.Context, confirmed string) (err error) {
	r.result, err = r.execute(ctx, r.releaser, r.seen, confirmed)
	return err
}

func (r *action) previewOf(ctx context.Context, releaser act.Releaser, request act.Request) (act.Preview, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	return releaser.Preview(ctx, request)
}

// execute performs the action. After an interrupt or a timeout, it waits a little longer for a
// request that was already sent, and reports what it knows.
func (r *action) execute(
	ctx context.Context, releaser act.Releaser, preview act.Preview, confirmed string,
) (act.Result, error) {
	acting, stop := app.Interruptible(ctx)
	defer stop()
	acting, cancel := context.WithTimeout(acting, r.Timeout+preview.Request.Wait)
	defer cancel()
	result, err := releaser.Execute(acting, preview, confirmed)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.PerMaster)
	defer cancel()
	return result.Settled(waiting, err)
}

// limitedReleaser gives each request of a bulk the time of a single action.
type limitedReleaser struct {
	releaser act.Releaser
	action   *action
}

func (l limitedReleaser) Preview(ctx context.Context, request act.Request) (act.Preview, error) {
	return l.action.previewOf(ctx, l.releaser, request)
}

func (l limitedReleaser) Execute(ctx context.Context, p act.Preview, confirmed string) (act.Result, error) {
	return l.action.execute(ctx, l.releaser, p, confirmed)
}

// agreeTo asks for the operator's agreement, and for why in production.
func (r *lockAction) agreeTo(does string, show func(io.Writer)) (how string, err error) {
	return r.agree(r.request.ID.Path, does, &r.seen.Request.Why, show)
}

// answer prints the outcome, as JSON or as text, and returns the exit code. not is the text for an
// action that was not done.
func (r *lockAction) answer(stopped act.Reason, err error, json func() any, text func(), not string) error {
	r.result.Reason = cmp.Or(stopped, r.result.Reason)
	if r.output != "json" {
		text()
	} else if err := r.PrintJSON(json()); err != nil {
		return err
	}
	return r.verdict(r.request, r.result, not, err)
}

// showOwner begins a preview with the contender.
func (r *action) showOwner(to io.Writer, p *act.Preview) {
	fmt.Fprintf(to, "%s %s\n  owner   %s\n", r.verb, p.Request.ID, named(p.Seen))
}

// showNext names the waiter that would get the lock.
func showNext(to io.Writer, p *act.Preview) {
	next := p.NoNext()
	if p.Next != nil {
		next = named(p.Next)
	}
	fmt.Fprintf(to, "  next    %s\n", next)
}

// named is a contender with its name.
func named(c *inspect.Contender) string {
	if who := c.Who(); who != c.Name {
		return fmt.Sprintf("%s (%s)", who, c.Name)
	}
	return c.Name.String()
}

// misnamed returns advice if --owner is a contender's label instead of its name, else nil. It never
// chooses for the user.
func (r *lockAction) misnamed(p act.Preview) error {
	switch {
	case len(p.Alike) == 0 || p.Seen != nil:
		return nil
	case len(p.Alike) > 1:
		return fmt.Errorf("%q is the label of %d contenders, not a name (choose one by its name: %s)",
			r.owner, len(p.Alike),
			r.setup.Command("show", p.Request.ID))
	}
	one := &p.Alike[0]
	does := "holds it"
	flags := []string{"--owner", one.Argument().String()}
	if p.Request.TTL > 0 {
		flags = append(flags, "--set", p.Request.TTL.String())
	}
	if one.State != inspect.Holding {
		does = "waits for it"
		if r.verb == "release" {
			flags = append(flags, "--waiter")
		}
	}
	if r.dryRun {
		flags = append(flags, "--dry-run")
	}
	return fmt.Errorf("%q is the label of %s, which %s, not its name (if you mean it: %s)",
		r.owner, flags[1], does,
		r.setup.Command(r.verb, p.Request.ID, flags...))
}

// contender returns a contender for JSON; nil for nil.
func (r *action) contender(c *inspect.Contender) any {
	if c == nil {
		return nil
	}
	return jsonform.Contender(c, r.Now(), nil)
}

// afterJSON is the contender that an action was about, the next one, and the holders afterwards.
type afterJSON struct {
	Seen         any   `json:"seen"`
	Next         any   `json:"next"`
	HoldersAfter []any `json:"holders_after"`
}

func (r *action) after(result *act.Result) afterJSON {
	j := afterJSON{Seen: r.contender(result.Seen), Next: r.contender(result.Next), HoldersAfter: []any{}}
	for i := range result.HoldersAfter {
		j.HoldersAfter = append(j.HoldersAfter, r.contender(&result.HoldersAfter[i]))
	}
	return j
}
