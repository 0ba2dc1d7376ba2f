package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// Complaint is a finding and the locks or backends that it is about.
type Complaint struct {
	inspect.Finding
	on []string // ids of locks, names of backends
}

// Diagnose collects the findings of a snapshot, the worst first. The same finding on several locks
// is one complaint.
func Diagnose(s *inspect.Snapshot) []Complaint {
	var all []Complaint
	at := make(map[string]int)
	add := func(on string, fs []inspect.Finding) {
		for _, f := range fs {
			key := mutedKey(f.Muted) + f.Rule + "\x00" + string(f.Severity) + "\x00" + f.Message + "\x00" + f.Advice()
			i, known := at[key]
			if !known {
				i = len(all)
				at[key] = i
				all = append(all, Complaint{Finding: f})
			}
			all[i].on = append(all[i].on, on)
		}
	}
	for _, b := range s.Backends {
		add("backend "+b.Name, b.Findings)
	}
	for l := range s.Locks() {
		add(l.ID.String(), l.Findings)
	}
	slices.SortStableFunc(all, func(a, b Complaint) int {
		return cmp.Or(describe.WorstFirst(a.Finding, b.Finding), cmp.Compare(a.on[0], b.on[0]),
			cmp.Compare(a.Rule, b.Rule))
	})
	return all
}

// mutedKey keeps findings that are muted apart from others.
func mutedKey(m *inspect.Muted) string {
	if m == nil {
		return ""
	}
	return m.Until.String() + m.Reason + m.By + "\x00"
}

// blind is the rule about what could not be seen.
const blind = "blind"

// Report returns the diagnosis as text: the answer, the findings, and what could not be seen.
func Report(s *inspect.Snapshot, found []Complaint) string {
	var b, seen, unseen, muted strings.Builder
	counts := make(map[inspect.Severity]int)
	heading, mutes := inspect.Severity(""), 0
	for _, c := range found {
		text := c.text(enumerate(c.on)+"   "+c.Rule, s.TakenAt)
		if c.Muted != nil {
			fmt.Fprintf(&muted, "%s    muted until %s by %s: %s\n", text, c.Muted.Until.UTC().Format(time.RFC3339),
				describe.Printable(c.Muted.By), describe.Printable(c.Muted.Reason))
			mutes++
			continue
		}
		if c.Rule == blind {
			unseen.WriteString(text)
			continue
		}
		if c.Severity != heading {
			heading = c.Severity
			fmt.Fprintf(&seen, "\n%s\n", strings.ToUpper(string(heading)))
		}
		counts[c.Severity]++
		seen.WriteString(text)
	}
	if Blank(s) {
		return "nothing could be seen\n"
	}
	for _, backend := range s.Backends {
		if backend.State != inspect.Connected {
			fmt.Fprintf(&unseen, "  backend %s is %s\n    %s\n", backend.Name, backend.State, describe.Failure(backend))
			continue
		}
		for _, server := range backend.Servers {
			if Silent(&server) {
				fmt.Fprintf(&unseen, "  backend %s, server %s is down\n    %s\n", backend.Name,
					inspect.Escape(server.Addr), describe.Printable(cmp.Or(server.Error, "it did not answer")))
			}
		}
	}
	apart := ""
	if mutes > 0 {
		apart = fmt.Sprintf(" (and %d muted)", mutes)
	}
	view := ""
	if unseen.Len() > 0 {
		view = ", partial view"
	}
	fmt.Fprintf(&b, "%s%s in %s%s\n", Tally(counts), apart, describe.Count(s.Len(), "lock"), view)
	if s.Len() == 0 {
		b.WriteString(sought(s))
	}
	b.WriteString(seen.String())
	if unseen.Len() > 0 {
		b.WriteString("\nNOT SEEN\n" + unseen.String())
	}
	if mutes > 0 {
		b.WriteString("\nMUTED\n" + muted.String())
	}
	return b.String()
}

// Blank reports whether no backend could be read.
func Blank(s *inspect.Snapshot) bool {
	return s.Len() == 0 &&
		!slices.ContainsFunc(s.Backends, func(b *inspect.Backend) bool { return b.State != inspect.Down })
}

// sought says for each backend, in a line, what we looked for.
func sought(s *inspect.Snapshot) string {
	var b strings.Builder
	for _, backend := range s.Backends {
		if text := describe.Sought(backend); text != "" {
			fmt.Fprintf(&b, "  backend %s: %s\n", backend.Name, text)
		}
	}
	return b.String()
}

// Tally counts the findings in words, such as "2 critical, 1 warning".
func Tally(counts map[inspect.Severity]int) string {
	var parts []string
	if n := counts[inspect.Critical]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d critical", n))
	}
	if n := counts[inspect.Warning]; n > 0 {
		parts = append(parts, describe.Count(n, "warning"))
	}
	if n := counts[inspect.Info]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d info", n))
	}
	if len(parts) == 0 {
		return "no problems found"
	}
	return strings.Join(parts, ", ")
}

// text is a complaint in a few lines below a head; at is the time of the look.
func (c Complaint) text(head string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n    %s\n", head, describe.Printable(c.Message))
	if cause := describe.Why(&c.Finding); cause != "" {
		fmt.Fprintf(&b, "    why  %s\n", describe.Printable(cause))
	}
	if seen := evidence(c.Finding, at); seen != "" {
		fmt.Fprintf(&b, "    seen %s\n", seen)
	}
	if len(c.Steps) > 0 {
		fmt.Fprintf(&b, "    do   %s\n", advice(&c.Finding))
	}
	return b.String()
}

// advice puts each command on its own line, so that it can be copied.
func advice(f *inspect.Finding) string {
	lines := each.Of(f.Phrases(), func(p inspect.Phrase) string { return describe.Printable(p.Text) })
	return strings.Join(lines, "\n         ")
}

// named limits the places that a complaint lists; it counts the rest.
const named = 4

func enumerate(on []string) string {
	if len(on) <= named {
		return strings.Join(on, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(on[:named], ", "), len(on)-named)
}

// evidence describes the evidence of a finding without its cause, and its confidence if it is not
// certain.
func evidence(f inspect.Finding, at time.Time) string {
	text := strings.Join(each.Of(describe.Evidence(f.Evidence, at, "cause"), func(fact describe.Fact) string {
		return fact.Name + " " + strings.Join(fact.Values, ", ")
	}), "; ")
	if f.Confidence != "" && f.Confidence != "certain" {
		text = strings.TrimPrefix(fmt.Sprintf("%s; confidence %s", text, f.Confidence), "; ")
	}
	return text
}

// Silent reports whether a server that votes on locks does not answer. A replica of a cluster does
// not vote.
func Silent(s *inspect.Server) bool {
	return s.State == inspect.ServerDown && !(s.Cluster && s.Role == "replica")
}
