package hold

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
)

// contentionJSON is the contract's report, with additional figures.
type contentionJSON struct {
	Lock             string        `json:"lock"`
	Kind             string        `json:"kind"`
	Contenders       int           `json:"contenders"`
	Grants           uint64        `json:"grants"`
	DurationMS       float64       `json:"duration_ms"`
	HandoffMS        quantilesJSON `json:"handoff_ms"`
	WaitMS           quantilesJSON `json:"wait_ms"`
	Inversions       uint64        `json:"inversions"`
	Jain             *float64      `json:"jain"`
	Overlaps         uint64        `json:"overlaps"`
	RequestsPerGrant *float64      `json:"requests_per_grant"`
	Seed             uint64        `json:"seed"`

	LongestWaitMS float64 `json:"longest_wait_ms"`
	Order         string  `json:"order"`
	Lost          uint64  `json:"lost"`
	Failed        uint64  `json:"failed"`
}

type quantilesJSON struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
	Max *float64 `json:"max"`
}

func contentionOf(r contend.Report, lock string) contentionJSON {
	j := contentionJSON{
		Lock: lock, Kind: r.Kind, Contenders: len(r.Contenders), Grants: r.Grants, DurationMS: exactMS(r.Duration),
		HandoffMS: quantilesOf(r.Handoff), WaitMS: quantilesOf(r.Wait), Inversions: r.Inversions, Overlaps: r.Overlaps,
		Seed:          r.Seed,
		LongestWaitMS: exactMS(r.LongestWait), Order: r.Order, Lost: r.Lost, Failed: r.Failed,
	}
	if r.Grants > 0 {
		jain, cost := r.Jain(), r.RequestsPerGrant()
		j.Jain, j.RequestsPerGrant = &jain, &cost
	}
	return j
}

func quantilesOf(q contend.Quantiles) quantilesJSON {
	if q.Count == 0 {
		return quantilesJSON{}
	}
	p50, p99, greatest := exactMS(q.P50), exactMS(q.P99), exactMS(q.Max)
	return quantilesJSON{&p50, &p99, &greatest}
}

// exactMS is a time in ms, to the microsecond.
func exactMS(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// inMilliseconds formats a time with at least three significant digits.
func inMilliseconds(d time.Duration) string {
	switch ms := exactMS(d); {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.0f ms", ms)
	}
}

// count returns a number with its unit.
func count(n uint64, what string) string { return describe.Count(int(n), what) }

// printReport prints a report for people.
func (q *contention) printReport(r contend.Report) {
	kind := r.Kind
	if q.recipe != "" {
		kind += " (" + q.recipe + ")"
	}
	fmt.Fprintf(q.Stdout, "%s  %s, %s, hold %v, think %v, seed %d\n\n",
		q.id, kind, describe.Count(len(r.Contenders), "contender"),
		q.config.Hold, q.config.Think, r.Seed)
	w := tabwriter.NewWriter(q.Stdout, 0, 0, 2, ' ', 0)
	line := func(name, text string) { fmt.Fprintf(w, "%s\t%s\n", name, text) }
	line("acquired", fmt.Sprintf("%d in %.2f s: %.4g/s", r.Grants, r.Duration.Seconds(), r.Rate()))
	line("fairness", fairness(r))
	line("inversions", fmt.Sprintf("%d, by %s", r.Inversions, r.Order))
	line("shares", shares(r))
	line("handoff", spreadText(r.Handoff, "no waiter took over from a holder"))
	line("wait", spreadText(r.Wait, "never acquired"))
	if r.LongestWaiter >= 0 {
		line("longest wait", fmt.Sprintf("%s, contender %d", inMilliseconds(r.LongestWait), r.LongestWaiter+1))
	}
	if r.Grants > 0 {
		line("requests", fmt.Sprintf("%.1f per acquisition", r.RequestsPerGrant()))
	}
	line("overlaps", q.overlaps(r))
	if r.Lost > 0 || r.Failed > 0 {
		line("trouble", fmt.Sprintf("%s lost, %s; the last: %s", count(r.Lost, "hold"), count(r.Failed, "failure"),
			inspect.Escape(fmt.Sprint(r.LastError))))
	}
	_ = w.Flush() // a failed write to standard output cannot be reported there
}

func spreadText(q contend.Quantiles, none string) string {
	if q.Count == 0 {
		return none
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s", inMilliseconds(q.P50), inMilliseconds(q.P99), inMilliseconds(q.Max))
}

// fairness describes how many acquisitions overtook a waiter.
func fairness(r contend.Report) string {
	switch {
	case r.Grants == 0:
		return "never acquired"
	case r.Inversions == 0:
		return "no acquisition overtook a waiter: 0 inversions"
	}
	share := 100 * float64(r.Inversions) / float64(r.Grants)
	text := fmt.Sprintf("%.2g%%", share)
	if share >= 1 {
		text = fmt.Sprintf("%.0f%%", share)
	}
	word := "a race"
	if share < 1 {
		word = "nearly first come, first served"
	}
	return fmt.Sprintf("%s: %s of acquisitions overtook a waiter", word, text)
}

func shares(r contend.Report) string {
	if r.Grants == 0 {
		return "never acquired"
	}
	least, most := r.Shares()
	return fmt.Sprintf("%d to %d each; evenness %.1f%% (Jain)", least, most, 100*r.Jain())
}

func (q *contention) overlaps(r contend.Report) string {
	switch shared := slices.ContainsFunc(q.kinds, func(k lockops.Kind) bool { return k.Shared }); {
	case r.Overlaps == 0 && shared:
		return "none: never acquired while a conflicting holder held it"
	case r.Overlaps == 0:
		return "none: never acquired while another client held it"
	}
	return fmt.Sprintf("%d: HELD BY TWO AT ONCE (%d shown by a fencing token that went backwards)", r.Overlaps,
		r.TokensBack)
}
