package act

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

// Which waiters have been silent for too long is not known without the server's clock: the first may be gone.
func TestWhoIsNextIsUnknownWithoutTheServersClock(t *testing.T) {
	clock := inspect.Unseen{Aspect: inspect.AspectExpiry, Where: "a:1", Read: "TIME", Right: "+time", Reason: "NOPERM"}
	two := []inspect.Contender{{Name: "a", State: inspect.Waiting}, {Name: "b", State: inspect.Waiting}}
	holder := &inspect.Contender{Name: "h", State: inspect.Holding}
	for name, tt := range map[string]struct {
		waiters []inspect.Contender
		unseen  []inspect.Unseen
		known   bool
	}{
		"known":                         {two, nil, true},
		"no clock":                      {two, []inspect.Unseen{clock}, false},
		"no clock, but there is one":    {two[:1], []inspect.Unseen{clock}, true},
		"another expiry that is denied": {two, []inspect.Unseen{{Aspect: inspect.AspectExpiry, Read: "PTTL", Right: "+pttl"}}, true},
	} {
		rd := reading{lock: &inspect.Lock{Waiters: tt.waiters, Unseen: tt.unseen}}
		next, why := rd.next(holder), rd.unseenWaiters()
		if (next != nil) != tt.known || (why == "") != tt.known || !tt.known && !strings.Contains(why, "+time") {
			t.Errorf("%s: next %+v, %q", name, next, why)
		}
	}
}
