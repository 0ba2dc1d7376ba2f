package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Span formats a measured duration in at most two units, short ones to the millisecond: 812ms,
// 2.1s, 14m02s, 3h05m, 4d06h. A negative duration is 0ms.
func Span(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	default:
		return Age(d)
	}
}

// Age formats a running age in at most two units: 0.8s, 2.1s, 42s, 14m02s, 3h05m, 2d04h, 41d.
func Age(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 10*24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// InTenths reports whether Age shows tenths of a second, so that it changes several times a
// second.
func InTenths(d time.Duration) bool { return d > 0 && d < 10*time.Second }

// Seconds is Age without tenths: it changes at most once a second.
func Seconds(d time.Duration) string {
	if d = max(0, d); d < 10*time.Second {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return Age(d)
}

// Limit formats a usual or negotiated duration without the trailing zeros of Span: 10m, 1h30m.
func Limit(d time.Duration) string {
	text := Span(d)
	for _, zero := range []string{"00s", "00m", "00h"} {
		if cut, ok := strings.CutSuffix(text, zero); ok && cut != "" {
			return cut
		}
	}
	return text
}

// Exact formats a configured duration as it was set, without the trailing zeros of String: 12.5s,
// 2m, 1h30m.
func Exact(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Last names a span that ends now: last minute, last 2m.
func Last(d time.Duration) string {
	switch d {
	case time.Minute:
		return "last minute"
	case time.Hour:
		return "last hour"
	}
	return "last " + Exact(d)
}

// steps are the round figures of Over, largest first.
var steps = [...]struct {
	d    time.Duration
	text string
}{
	{365 * 24 * time.Hour, "1y"},
	{90 * 24 * time.Hour, "90d"},
	{30 * 24 * time.Hour, "30d"},
	{7 * 24 * time.Hour, "7d"},
	{2 * 24 * time.Hour, "2d"},
	{24 * time.Hour, "1d"},
	{12 * time.Hour, "12h"},
	{6 * time.Hour, "6h"},
	{3 * time.Hour, "3h"},
	{time.Hour, "1h"},
	{30 * time.Minute, "30m"},
	{20 * time.Minute, "20m"},
	{10 * time.Minute, "10m"},
	{5 * time.Minute, "5m"},
	{2 * time.Minute, "2m"},
	{time.Minute, "1m"},
	{30 * time.Second, "30s"},
	{10 * time.Second, "10s"},
	{5 * time.Second, "5s"},
	{2 * time.Second, "2s"},
	{time.Second, "1s"},
	{500 * time.Millisecond, "0.5s"},
	{100 * time.Millisecond, "0.1s"},
}

// Over returns the largest round figure that d has reached. Findings use it instead of a running
// age, so that the same state always gives the same finding.
func Over(d time.Duration) string {
	for _, s := range steps {
		if d >= s.d {
			return s.text
		}
	}
	return "0s"
}

// Expiry describes when a master's key expires.
func Expiry(v *inspect.Vote, now time.Time) string {
	switch {
	case !v.Up:
		return "unknown: it does not answer"
	case !v.Present:
		return "no such key"
	case v.NoExpiry:
		return "never expires"
	case v.ExpiresAt.IsZero():
		return "its expiry is unknown"
	}
	return "expires in " + Span(v.ExpiresAt.Sub(now))
}
