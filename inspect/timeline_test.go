package inspect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// TestTimelines plays the scripts in testdata/timelines; its README explains them. Each section
// begins with the lines before the first section.
func TestTimelines(t *testing.T) {
	paths := must.Have(filepath.Glob("testdata/timelines/*.txt"))(t)
	must.True(t, len(paths) > 0, "no timelines")
	for _, path := range paths {
		all := sections(t, path)
		for _, s := range all[1:] {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+s.title, func(t *testing.T) {
				a := applying(t)
				a.play(t, all[0].text)
				a.play(t, s.text)
			})
		}
	}
}

// section is a part of a file, which "== TITLE" begins. The first one has no title.
type section struct{ title, text string }

// sections splits a file at its titles. The first section has none.
func sections(t *testing.T, path string) (list []section) {
	t.Helper()
	for i, part := range strings.Split("\n"+string(must.Have(os.ReadFile(path))(t)), "\n== ") {
		if i == 0 {
			part = "\n" + part
		}
		title, text, _ := strings.Cut(part, "\n")
		list = append(list, section{title, text})
	}
	return list
}

// play plays lines of a timeline.
func (a *applied) play(t *testing.T, script string) {
	t.Helper()
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(" "+line, " #")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		rest := strings.Join(words[1:], " ")
		if second, err := strconv.ParseFloat(words[0], 64); err == nil {
			a.at = secondsOn(second)
			a.apply(sourceUpdate{0, a.updateOf(t, rest)})
		} else if subject, checked := strings.CutSuffix(words[0], ":"); checked {
			must.Equal(t, a.told(t, subject), rest, strings.TrimSpace(line))
		} else {
			a.do(t, words[0], words[1:])
		}
	}
}

// told returns what the observer says about a subject.
func (a *applied) told(t *testing.T, subject string) string {
	t.Helper()
	l := a.locks.get(a.id)
	if l == nil {
		l = &Lock{State: "none"}
	}
	switch subject {
	case "reports":
		return a.reports(t)
	case "details":
		return a.detailed(a.next(t).Events)
	case "kinds":
		kind := func(event string) string { return strings.SplitN(event, " ", 2)[0] }
		return strings.Join(each.Of(strings.Split(a.reports(t), ", "), kind), ", ")
	case "queued":
		return secondOf(l.Holders[0].Since)
	case "held":
		since := each.Of(l.Holders, func(h Contender) string { return secondOf(h.HeldSince) })
		return strings.Join(slices.Compact(since), " ")
	case "age":
		s := a.next(t)
		age, _ := s.Age(s.Lock(a.id), &l.Holders[0], l.Holders[0].HeldSince, a.at)
		return age.Duration.String()
	case "state":
		return string(l.State)
	case "raised":
		events := slices.Clone(a.events)
		a.reports(t)
		return short(each.Where(events, func(e Event) bool { return e.Finding != nil }))
	case "away":
		return strconv.Itoa(len(a.byName["zk"].away))
	case "longest-ttl":
		return a.byName[a.id.Backend].historyOf(l).LongestTTL.String()
	case "findings":
		return rulesOf(l)
	case "found":
		return a.found()
	case "asked":
		defer func() { a.asked = false }()
		return map[bool]string{true: "yes", false: "no"}[a.asked]
	}
	return counted(t, subject, l.Observed.History)
}

// counted returns what a history says about a subject.
func counted(t *testing.T, subject string, h *History) string {
	t.Helper()
	if h == nil || subject == "renewals" && h.Renewal == (Renewal{}) {
		return "none"
	}
	r := h.Renewal
	switch subject {
	case "history":
		return fmt.Sprintf("grants %d, handovers %d, holds %d, waits %d", h.Grants, h.Handovers, h.Holds.Count, h.Waits.Count)
	case "since":
		return secondOf(h.Since)
	case "recent":
		var spans []string
		for _, s := range h.Recent {
			who := number(s.Contender)
			spans = append(spans, fmt.Sprintf("%s %s %s..%s", who, secondOf(s.Queued), secondOf(s.Granted), secondOf(s.Ended)))
		}
		return strings.Join(spans, ", ")
	case "holds":
		return fmt.Sprint(h.Holds.P50, h.Holds.P99, h.Holds.Max)
	case "waits":
		return fmt.Sprint(h.Waits.P50, h.Waits.P99, h.Waits.Max)
	case "overtaken":
		return strings.TrimPrefix(fmt.Sprint(h.Overtaken), "map")
	case "renewals":
		every, ttl := r.Every.Round(time.Second/10), r.TTL.Round(time.Second/10)
		return fmt.Sprintf("%d, every %v, last %s, ttl %v, skipped %d", r.Count, every, secondOf(r.Last), ttl, r.Skipped)
	case "longest-wait":
		return h.Waits.Max.Round(time.Second).String()
	}
	t.Fatalf("unknown subject %q", subject)
	return ""
}

// do is what happens besides the source's updates.
func (a *applied) do(t *testing.T, verb string, words []string) {
	t.Helper()
	switch verb {
	case "rules":
		a.Diagnose(a.rules(t, strings.Join(words, " ")), 10*time.Second)
	case "forced":
		a.Forced(a.id, Untrusted(fmt.Sprintf("%s__lock__%010s", guid, words[0])))
	case "ends", "cannot-end":
		if undo := a.Expired(words[0], numberOf(t, words[1])); verb == "cannot-end" {
			undo()
		}
	case "forget":
		a.Forget(a.id)
	case "pass":
		for until := secondOn(t, words[0]); a.at.Add(beat).Before(until); {
			a.at = a.at.Add(beat)
			a.onBeat(a.at)
		}
	default:
		t.Fatalf("unknown verb %q", verb)
	}
}

func (a *applied) rules(t *testing.T, name string) []Rule {
	t.Helper()
	asks := Rule{Name: "asks", Lock: func(*Case) []Finding { a.asked = true; return nil }}
	rules, known := map[string][]Rule{
		"age":     {testRules()[0], asks},
		"halfway": a.halfway.rules(),
		"mixed": {{Name: "mixed", Lock: func(c *Case) []Finding {
			return slices.Repeat([]Finding{{Rule: "mixed", Severity: Warning}}, min(len(c.Lock.Waiters), 1))
		}}},
		"spread":            suspecting(nil),
		"spread read-twice": suspecting(func(c *Case) time.Time { return c.Lock.ReadAt }),
	}[name]
	must.True(t, known, "unknown rules", name)
	return rules
}

func (a *applied) updateOf(t *testing.T, facts string) (u Update) {
	t.Helper()
	for fact := range strings.SplitSeq(facts, ";") {
		words := strings.Fields(fact)
		switch what, words := words[0], words[1:]; what {
		case "up", "down", "redis":
			u.Backend = backendOf(t, what, words)
		case "queue", "hidden", "key", "curator", "kazoo", "nodes":
			u.Put = append(u.Put, a.lockOf(t, what, words))
			a.read = a.at
		case "unseen":
			u.Put[0].UnseenSince = secondOn(t, words[0])
		case "evidence":
			a.evidence, a.read = "", a.at
			if len(words) > 0 {
				a.evidence = words[0]
			}
			if len(words) > 1 {
				a.read = secondOn(t, words[1])
			}
		case "gone", "withdrawn":
			for _, path := range words {
				u.Gone = append(u.Gone, ID{a.id.Backend, path})
			}
			if what == "withdrawn" {
				u.Withdrawn = u.Gone
			}
		case "sessions", "some-sessions":
			u.Sessions, u.AllSessions = sessionsOf(t, words), what == "sessions"
		case "asked":
			u.SessionsAt = secondOn(t, words[0])
		case "gap":
			u.Gap = &Gap{Backend: a.id.Backend, From: secondOn(t, words[0]), Until: secondOn(t, words[1])}
		case "known":
			u.At = secondOn(t, words[0])
			for _, l := range u.Put {
				l.ReadAt = slices.MinFunc([]time.Time{u.At, a.at}, time.Time.Compare)
			}
		default:
			t.Fatalf("unknown fact %q", fact)
		}
	}
	return u
}

// lockOf returns the queue of these sessions or the key with these votes, which a path may precede.
func (a *applied) lockOf(t *testing.T, what string, words []string) (l *Lock) {
	t.Helper()
	a.id = ID{"zk", "/l"}
	if what == "key" {
		a.id = ID{"redis", "k"}
	}
	if len(words) > 0 && strings.HasSuffix(words[0], ":") {
		a.id.Path, words = strings.TrimSuffix(words[0], ":"), words[1:]
	}
	switch what {
	case "curator", "kazoo":
		l = semaphoreOf(t, what, strings.Join(words, " "))
		l.ReadAt = a.at
	case "queue":
		l = queueAt(t, a.id.Path, strings.Join(words, " "))
		l.ReadAt = a.at
	case "nodes":
		l = lockOf(t, strings.Join(words, " "))
		l.ReadAt = a.at
	case "hidden":
		l = FreeDirectory(a.id, nil, a.at)
		l.State = StateUnknown
	case "key":
		votes, waiters, _ := strings.Cut(strings.Join(words, " "), "<")
		l = KeyLock(a.id, votesOf(t, votes), a.at)
		for _, name := range strings.Fields(waiters) {
			l.Waiters = append(l.Waiters, Contender{Name: Untrusted(name), State: Waiting})
		}
		for c := range l.Contenders {
			if strings.HasPrefix(c.Name.Raw(), "r") {
				c.Mode = recipe.Shared
			}
		}
	}
	return l
}

// semaphoreOf returns a semaphore with two permits. A word is a session and the czxid of its entry,
// which was created in that second. The queue follows <.
func semaphoreOf(t *testing.T, library, text string) *Lock {
	t.Helper()
	entries := func(text, format string) (nodes []Znode) {
		for _, word := range strings.Fields(text) {
			session, czxid, _ := strings.Cut(word, "/")
			z := node(fmt.Sprintf(format, numberOf(t, czxid)), numberOf(t, session))
			z.Czxid, z.Created = numberOf(t, czxid), secondOn(t, czxid)
			nodes = append(nodes, z)
		}
		return nodes
	}
	leases, queue, _ := strings.Cut(text, "<")
	d := Directory{Children: entries(leases, "%032x"), Data: []byte("2")}
	d.Parts = map[string][]Znode{recipe.KazooQueue("/l"): entries(queue, guid+"__lock__%010d")}
	if library == "curator" {
		d = Directory{Children: []Znode{node("leases", 0), node("locks", 0)}}
		d.Parts = map[string][]Znode{
			"leases": entries(leases, curatorID+"lease-%010d"), "locks": entries(queue, curatorID+"lock-%010d"),
		}
	}
	l, _ := d.Lock(ID{"zk", "/l"}, now)
	return l
}

// votesOf returns ballots. ~ precedes the second of an expiry, and @ that of a read.
func votesOf(t *testing.T, text string) []Vote {
	t.Helper()
	words := strings.Fields(text)
	var values []string
	for _, word := range words {
		values = append(values, word[:strings.IndexAny(word+"~", "~@")])
	}
	votes := ballots(strings.Join(values, " "))
	for i, word := range words {
		word, read, dated := strings.Cut(word, "@")
		if dated {
			votes[i].ReadAt = secondOn(t, read)
		}
		if _, until, expires := strings.Cut(word, "~"); expires {
			votes[i].ExpiresAt = secondOn(t, until)
		}
	}
	return votes
}

// sessionsOf returns sessions like 11/20@15: its number, its timeout, and when its client was last
// heard from.
func sessionsOf(t *testing.T, words []string) map[int64]Session {
	t.Helper()
	sessions := make(map[int64]Session)
	for _, word := range words {
		word, heard, contact := strings.Cut(word, "@")
		number, timeout, _ := strings.Cut(word, "/")
		s := Session{ID: numberOf(t, number)}
		if contact {
			s.Timeout = time.Duration(numberOf(t, timeout)) * time.Second
			s.LastContact = secondOn(t, heard)
		}
		sessions[s.ID] = s
	}
	return sessions
}

func backendOf(t *testing.T, what string, words []string) *Backend {
	t.Helper()
	b := *zkUp
	switch what {
	case "down":
		b.State = Down
	case "redis":
		b.Name, b.Kind, b.Mode = "redis", Redis, ModePush
	}
	for _, word := range words {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "heard":
			b.HeardAt = secondOn(t, value)
		case "disturbed":
			b.DisturbedAt = secondOn(t, value)
		case "clock":
			ahead := secondOn(t, value).Sub(now)
			b.Servers = []Server{{Addr: "a", State: ServerUp, ClockKnown: true, ClockOffset: ahead}}
		case "started":
			b.Servers = []Server{{Addr: "a", State: ServerUp, StartedAt: secondOn(t, value)}}
		case "first-pass":
			b.FirstPass = false
		default:
			b.Mode = Mode(key)
		}
	}
	return &b
}

// detailed formats each event with its certainty, unless certain, its time, unless it is the present,
// and the seconds between which it happened.
func (a *applied) detailed(events []Event) string {
	var words []string
	for i := range events {
		e := &events[i]
		text := short(events[i : i+1])
		if e.Certainty != recipe.Certain {
			text += " " + cmp.Or(string(e.Certainty), "uncertain")
		}
		if e.Backend != nil {
			text += " of " + e.Backend.Name
		}
		if !e.At.Equal(a.at) {
			text += " at " + secondOf(e.At)
		}
		if e.Between != (Interval{}) {
			text += " in " + secondOf(e.Between.From) + ".." + secondOf(e.Between.To)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

func numberOf(t *testing.T, word string) int64 {
	t.Helper()
	return must.Have(strconv.ParseInt(word, 10, 64))(t)
}

func secondOn(t *testing.T, word string) time.Time {
	t.Helper()
	if word == "ever" {
		return NeverSeen
	}
	return secondsOn(must.Have(strconv.ParseFloat(word, 64))(t))
}

func secondOf(at time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%g", at.Sub(now).Seconds())
}
