package describe

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Renewal describes how often a holder's key is renewed, such as "renewed every 10s, 3s ago, 2
// missed"; empty if none was seen.
func Renewal(h *inspect.History, now time.Time) string {
	if h == nil || h.Renewal.Count == 0 {
		return ""
	}
	r := &h.Renewal
	words := "renewed"
	if r.Every > 0 {
		words += " every " + Age(r.Every) + ","
	}
	words += " " + Age(max(0, now.Sub(r.Last))) + " ago"
	if r.Skipped > 0 {
		words += fmt.Sprintf(", %d missed", r.Skipped)
	}
	return words
}
