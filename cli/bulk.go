package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/recipe"
	"lockscope/internal/text"
	"lockscope/lockops/act"
)

// mostAtOnce bounds --max: more than that nobody has looked at.
const mostAtOnce = 1000

// bulk is one run of release --match: many locks, each previewed, guarded, released, audited and reported by itself.
type bulk struct {
	*release
	items []*bulkItem
	left  int // so many match and are left out
	all   *releasers
	stop  act.Reason // for which none is released; empty: none
}

// bulkItem is one lock of it.
type bulkItem struct {
	lock    *inspect.Lock
	owner   inspect.Untrusted
	waiter  bool // it is no holder: the value of a leftover
	preview act.Preview
	result  act.Result
	err     error
	tried   bool
}

// releaseArgs: with --match there are targets only.
func (r *release) args(cmd *cobra.Command, args []string) error {
	if r.match != "" {
		return nil
	}
	return lockFirst(cmd, args)
}

func (r *release) runBulk(ctx context.Context, args []string) error {
	if err := r.checkBulk(); err != nil {
		return err
	}
	var err error
	if r.setup, err = r.setUp(ctx, args); err != nil {
		return err
	}
	b := &bulk{release: r}
	return r.perform(ctx, b)
}

// look implements deed.
func (b *bulk) look(ctx context.Context, all *releasers) (may bool, err error) {
	b.all = all
	s, err := lookTwice(ctx, func() (*inspect.Snapshot, error) { return b.app.look(ctx, b.setup, "") }, inspect.SettleFor)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(s.Backends, unseen) {
		return false, errors.Join(errors.New("not all could be read: nothing was done"), b.judgeStates(s.Backends))
	}
	b.choose(s)
	if b.left > 0 {
		b.say("%d more match and are left out: only possibly locks, or not held by exactly one (lockscope ls shows them)", b.left)
	}
	if n := len(b.items); n > b.max {
		b.stop = TooMany
		return false, fmt.Errorf("%d locks match, more than --max %d: nothing was done (narrow --match)", n, b.max)
	}
	if err := b.previewAll(ctx, s); err != nil {
		return false, b.setup.explain(err)
	}
	if len(b.items) == 0 && b.output == "text" {
		b.show(b.Stdout)
	}
	return len(b.items) > 0, nil
}

// TooMany is the reason of release --match for locks that match beyond --max.
const TooMany act.Reason = "too-many"

func (r *release) checkBulk() error {
	if err := oneOf(r.output, "text", "json"); err != nil {
		return err
	}
	switch {
	case r.owner != "":
		return usageError("--owner names one contender: give it, or --match")
	case r.waiter:
		return usageError("--waiter goes with --owner: --match releases holders, and leftovers by --finding minority-leftover")
	case r.max < 1 || r.max > mostAtOnce:
		return usageError("--max %d: say how many locks at most, from 1 to %d", r.max, mostAtOnce)
	case r.finding != "" && !slices.ContainsFunc(finding.Rules(), func(f inspect.Rule) bool { return f.Name == r.finding }):
		return usageError("--finding %q: there is none of that name (docs/findings.md lists them)", r.finding)
	}
	return nil
}

// choose collects the locks that match and what is to be taken out of each. What is only possibly a lock, and what several hold,
// is never among them.
func (b *bulk) choose(s *inspect.Snapshot) {
	for l := range s.Locks() {
		if !text.Glob(b.match, l.ID.String()) {
			continue
		}
		item := &bulkItem{lock: l}
		if len(l.Holders) == 1 {
			item.owner = ownerName(l.Holders[0].Name, l.Holders[0].Digest)
		}
		if b.finding != "" {
			at := slices.IndexFunc(l.Findings, func(f inspect.Finding) bool { return f.Rule == b.finding && f.Muted == nil })
			if at < 0 {
				continue
			}
			if about := l.Findings[at].Subject; about.Contender != "" {
				item.owner = ownerName(about.Contender, about.Digest)
			}
			item.waiter = l.State == inspect.StateMinority
		}
		switch {
		case l.State == inspect.StateFree:
		case l.Confidence == recipe.Possible || item.owner == "":
			b.left++
		default:
			b.items = append(b.items, item)
		}
	}
}

// ownerName names a contender in a request.
func ownerName(name inspect.Untrusted, digest string) inspect.Untrusted {
	if digest != "" {
		return inspect.Untrusted(digest)
	}
	return name
}

// previewAll previews each. One that is refused stays in the list, and will not be tried.
func (b *bulk) previewAll(ctx context.Context, s *inspect.Snapshot) error {
	for _, item := range b.items {
		releaser, _ := b.all.of(item.lock.ID.Backend)
		p, err := b.previewOf(ctx, releaser, act.Request{ID: item.lock.ID, Lock: item.lock, Owner: item.owner, Waiter: item.waiter, Why: b.reason})
		if err != nil {
			return fmt.Errorf("%s: %w", item.lock.ID, err)
		}
		p.Consider(s)
		item.preview, item.result = p, act.Result{Seen: p.Seen, Next: p.Next, Reason: p.Refused, Detail: p.Detail}
	}
	return nil
}

// confirm implements deed. What is agreed to is a number of locks.
func (b *bulk) confirm() (how string, err error) {
	production := b.reason == "" && b.setup.profile.Environment == "production"
	_, asks := terminal(b.Stdin)
	switch {
	case production:
		return "", errors.New("the profile's environment is production: say why (give --reason)")
	case b.yes:
		return "--yes", nil
	case !asks:
		return "", errors.New("there is no terminal to ask on (give --yes)")
	}
	b.show(b.Stderr)
	fmt.Fprintf(b.Stderr, "type %d to release these %d locks, one after the other: ", len(b.items), len(b.items))
	typed, _ := bufio.NewReader(b.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != strconv.Itoa(len(b.items)) {
		return "", errors.New("what was typed is not their number")
	}
	return "typed", nil
}

// do implements deed: it releases one after the other, until one does not go as it was shown.
func (b *bulk) do(ctx context.Context, confirmed string) error {
	for _, item := range b.items {
		if item.preview.Refused != "" {
			return nil
		}
		releaser, _ := b.all.of(item.lock.ID.Backend)
		item.tried = true
		item.result, item.err = b.execute(ctx, releaser, item.preview, confirmed)
		if item.err != nil || !item.result.Released {
			return nil
		}
	}
	return nil
}

// show implements deed.
func (b *bulk) show(to io.Writer) {
	for _, item := range b.items {
		if p := item.preview; p.Refused != "" {
			fmt.Fprintf(to, "release %s\n  refused %s\n", item.lock.ID, b.why(p.Request, item.result))
		} else {
			b.showRelease(to, p)
		}
	}
	fmt.Fprintf(to, "%d of at most %d locks\n", len(b.items), b.max)
}

// bulkJSON is the answer of release --match.
type bulkJSON struct {
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
	releaseJSON
}

// report implements deed: the exit code is 1 unless all of them were released.
func (b *bulk) report(stopped act.Reason, err error) error {
	reason := cmp.Or(stopped, b.stop)
	j := bulkJSON{Matched: len(b.items), Max: b.max, Reason: reason, DryRun: b.dryRun, Items: []bulkItemJSON{}}
	var failed error // of the first that did not go as shown
	for _, item := range b.items {
		one := bulkItemJSON{Lock: item.lock.ID.String(), Tried: item.tried, releaseJSON: b.json(item.result)}
		switch {
		case item.result.Released && item.err == nil:
			j.Released++
		case failed == nil && reason == "" && err == nil && !b.dryRun:
			id := one.Lock
			j.Stopped, failed = &id, b.verdict(item.preview.Request, item.result, "not released", b.setup.explain(item.err))
		}
		if item.err != nil {
			one.Error = inspect.Escape(item.err.Error())
		}
		j.Items = append(j.Items, one)
	}
	if b.output == "json" {
		if err := b.printJSON(j); err != nil {
			return err
		}
	} else if !b.dryRun && reason == "" {
		for _, item := range b.items {
			if item.tried {
				b.print(item.preview.Request, item.result)
			}
		}
		fmt.Fprintf(b.Stdout, "released %d of %d\n", j.Released, j.Matched)
	}
	switch {
	case err != nil && reason != "":
		return exit(exitNo, "%s: %w", reason, err)
	case err == nil && failed != nil:
		return fmt.Errorf("stopped at the first that did not go as shown: %w", failed)
	}
	return err
}
