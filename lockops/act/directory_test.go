package act

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
)

// A contender that is not where we could look is not there only if we could look everywhere: else a release
// would be reported as not needed.
func TestWhoMayBeWhereWeCouldNotLookIsNotGone(t *testing.T) {
	for aspect, known := range map[inspect.Aspect]bool{
		inspect.AspectHolders: false, inspect.AspectWaiters: false, inspect.AspectKind: false, inspect.AspectWatches: true,
	} {
		l := &inspect.Lock{Unseen: []inspect.Unseen{{Aspect: aspect, Where: "/l", Read: "getChildren", Reason: "not authenticated", Right: "READ on /l"}}}
		d := directory{Reading: &zksource.Reading{Lock: l}}
		_, c, err := d.contender("lock-0000000001")
		if c != nil || (err == nil) != known {
			t.Errorf("%v unseen: %v, %v", aspect, c, err)
		}
		if !known && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "grant READ on /l")) {
			t.Errorf("%v unseen: %v", aspect, err)
		}
	}
}
