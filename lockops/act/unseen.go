package act

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// unseen lists the refused and failed reads that leave these aspects of a lock unknown; empty for
// none, safe to print. server is the word for a server, with a trailing space.
func unseen(l *inspect.Lock, server string, aspects ...inspect.Aspect) string {
	var all []string
	for _, u := range l.Unseen {
		if !slices.Contains(aspects, u.Aspect) {
			continue
		}
		why := fmt.Sprintf("%s of %s%s: %s", u.Read, server, u.Where, u.Reason)
		if u.Right != "" {
			why = fmt.Sprintf("the user may not run %s on %s%s (grant %s)", u.Read, server, u.Where, u.Right)
		}
		if why = inspect.Escape(why); !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return strings.Join(all, "; ")
}
