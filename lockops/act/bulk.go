package act

import (
	"context"
	"fmt"

	"github.com/lockscope/lockscope/inspect"
)

// Item is one lock of a bulk action: previewed, guarded, done, audited and reported separately.
type Item struct {
	Request Request
	Preview Preview
	Result  Result
	// Err is set if a server could not be asked.
	Err error
	// Tried means that the release was attempted, with any result.
	Tried bool
}

// Releasers finds the Releaser of a backend, if it has one.
type Releasers func(backend string) (Releaser, bool)

// PreviewAll previews each item, including the effects on the other locks as last seen in s; nil
// means they were not read. The preview of a refused item contains the reason. If an item's servers
// cannot be asked, PreviewAll stops with an error.
func PreviewAll(ctx context.Context, of Releasers, s *inspect.Snapshot, items []*Item) error {
	for _, item := range items {
		releaser, ok := of(item.Request.ID.Backend)
		if !ok {
			return fmt.Errorf("%s: its backend cannot be written to", item.Request.ID)
		}
		p, err := releaser.Preview(ctx, item.Request)
		if err != nil {
			return fmt.Errorf("%s: %w", item.Request.ID, err)
		}
		p.Consider(s)
		item.Preview, item.Result = p, Result{Seen: p.Seen, Next: p.Next, Reason: p.Refused, Detail: p.Detail}
	}
	return nil
}

// ExecuteItem executes a previewed item and reports whether it went as previewed. After one that
// did not, do not execute the rest.
func ExecuteItem(ctx context.Context, of Releasers, item *Item, confirmed string) bool {
	releaser, ok := of(item.Request.ID.Backend)
	if !ok || item.Preview.Refused != "" {
		return false
	}
	item.Tried = true
	item.Result, item.Err = releaser.Execute(ctx, item.Preview, confirmed)
	return item.Err == nil && item.Result.Done()
}

// Done reports whether the action succeeded: released, set, or asked and let go.
func (r *Result) Done() bool { return r.Released || r.Set || r.LetGo }
