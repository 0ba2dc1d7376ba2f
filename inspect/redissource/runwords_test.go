package redissource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
)

// refusal is an error reply of a server.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func numberOf(t *testing.T, word string) int {
	t.Helper()
	return must.Have(strconv.Atoi(word))(t)
}

// secondOr is that second after noon, or otherwise.
func secondOr(t *testing.T, word string, otherwise time.Time) time.Time {
	t.Helper()
	if word == "" {
		return otherwise
	}
	n := must.Have(strconv.ParseFloat(word, 64))(t)
	return noon.Add(time.Duration(n * float64(time.Second)).Round(time.Microsecond))
}

func listOf(words string) []string {
	return strings.FieldsFunc(words, func(r rune) bool { return r == ',' })
}

// factsOf separates facts such as role=master. The names of keys have a colon.
func factsOf(words []string) (facts map[string]string, others []string) {
	facts = map[string]string{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok && !strings.Contains(name, ":") {
			facts[name] = value
		} else {
			others = append(others, word)
		}
	}
	return facts, others
}

// voteOf is a master's vote on a key.
func voteOf(t *testing.T, master int, key, word string) inspect.Vote {
	t.Helper()
	v := absent(master)
	word, aspect, unseen := strings.Cut(word, "?")
	value, end, expires := strings.Cut(word, "~")
	switch list, record := strings.CutPrefix(word, "{"); {
	case word == "-":
		return v
	case word == "":
		return forbids(master, key)
	case strings.HasPrefix(word, "("):
		v = foreign(master, inspect.Untrusted(strings.Trim(word, "()")))
	case record:
		v.Held = recordOf(t, list)
		v.Present = len(v.Held.Claims) > 0
	case expires:
		v.Present, v.Value, v.ExpiresAt = true, inspect.Untrusted(value), secondOr(t, end, noon)
	default:
		v.Present, v.Value, v.NoExpiry = true, inspect.Untrusted(value), true
	}
	if unseen {
		v.Unseen = []inspect.Unseen{{Aspect: inspect.Aspect(cmp.Or(aspect, "waiters")), Right: "~queue"}}
	}
	return v
}

// recordOf is a record like x~8,y<}*. A waiter is followed by <, and a dead claim by !.
func recordOf(t *testing.T, list string) *recipe.Record {
	t.Helper()
	list, suffix, _ := strings.Cut(list, "}")
	r := &recipe.Record{Recipe: "test", Kind: "rw", Doubtful: suffix == "*", Auxiliary: suffix == "+"}
	r.PartOf = strings.TrimLeft(suffix, "*+")
	for word := range strings.SplitSeq(list, ",") {
		if word == "" {
			continue
		}
		name, end, expires := strings.Cut(word, "~")
		name, waiting := strings.CutSuffix(name, "<")
		name, dead := strings.CutSuffix(name, "!")
		c := recipe.Claim{Name: name, Waiting: waiting, Dead: dead}
		if expires {
			c.ExpiresAt = secondOr(t, end, noon)
		}
		r.Claims = append(r.Claims, c)
	}
	return r
}

// statusOf is a master's status with some facts.
func statusOf(t *testing.T, facts map[string]string) node.Status {
	t.Helper()
	number := func(name string) int { return numberOf(t, cmp.Or(facts[name], "0")) }
	ms := func(name string) time.Duration { return time.Duration(number(name)) * time.Millisecond }
	st := node.Status{Reported: facts["info"] != "denied", Master: facts["of"]}
	st.Role, st.Latency, st.EvictionPolicy = cmp.Or(facts["role"], "master"), ms("took"), facts["evicts"]
	st.Cluster, st.MaxMemory = facts["mode"] == "cluster", int64(number("max"))
	st.ClockOffset, st.ClockWithin, st.ClockKnown = ms("clock"), ms("within"), facts["clock"] != ""
	st.StartedAt = secondOr(t, facts["started"], time.Time{})
	for _, word := range listOf(facts["clients"]) {
		name, addr, _ := strings.Cut(word, "@")
		if st.Clients == nil {
			st.Clients = node.Clients{}
		}
		st.Clients.Add(name, addr)
	}
	for _, word := range listOf(facts["databases"]) {
		index, keys, _ := strings.Cut(word, ":")
		st.Databases = append(st.Databases, inspect.Database{Index: numberOf(t, index), Keys: numberOf(t, keys)})
	}
	if right := facts["denied"]; right != "" {
		st.Unseen = []inspect.Unseen{{Aspect: inspect.AspectServer, Where: "m", Read: "INFO", Right: right}}
	}
	return st
}

// second shows a time as seconds after noon.
func second(at time.Time) string {
	switch {
	case at.IsZero():
		return "-"
	case at.Equal(inspect.NeverSeen):
		return "ever"
	}
	return strconv.FormatFloat(float64(at.Sub(noon).Microseconds())/1e6, 'f', -1, 64)
}

func shownVote(v inspect.Vote) string {
	text := v.Value.Raw()
	switch {
	case v.Error == unread:
		return "unread"
	case v.Held != nil:
		text = "{" + strings.Join(shownClaims(v.Held), ",") + "}"
	case v.Foreign:
		text = "(" + text + ")"
	case !v.Up:
		text = "down"
	case !v.Present:
		text = "-"
	}
	if !v.ExpiresAt.IsZero() {
		text += "~" + second(v.ExpiresAt)
	}
	if len(v.Unseen) > 0 {
		text += "?"
	}
	if v.Unsure {
		text += "*"
	}
	if !v.LastPresent.IsZero() {
		text += " was " + second(v.LastPresent)
	}
	return text + " @" + second(v.ReadAt)
}

func shownClaims(r *recipe.Record) (names []string) {
	for _, c := range r.Claims {
		name := c.Name
		if !c.ExpiresAt.IsZero() {
			name += "~" + second(c.ExpiresAt)
		}
		names = append(names, name)
	}
	return names
}

// shownLock shows a lock as reported: its state, its holders and waiters, and when it may have
// changed if that was not seen.
func shownLock(l *inspect.Lock) string {
	text := l.ID.Path + " " + string(l.State)
	for c := range l.Contenders {
		if c.State == inspect.Waiting {
			text += " <"
		}
		text += " " + c.Name.Raw()
		if !c.ExpiresAt.IsZero() {
			text += "~" + second(c.ExpiresAt)
		}
		if c.Owner.Client != "" {
			text += " at " + c.Owner.Client
		}
	}
	if !l.UnseenSince.IsZero() {
		text += ", after " + second(l.UnseenSince)
	}
	if l.Polled {
		text += ", polled"
	}
	return text
}

func shownUnseen(list []inspect.Unseen) string {
	var texts []string
	for _, u := range list {
		text := fmt.Sprintf("%s, %s, %s: %s [%s] [%s]", u.Aspect, u.Where, u.Read, u.Reason, u.Right, u.Advice)
		texts = append(texts, inspect.Escape(strings.ReplaceAll(text, " []", "")))
	}
	return strings.Join(texts, "; ")
}

// shown is what the run says about a subject.
func (p *played) shown(subject []string) string {
	p.t.Helper()
	if i, err := strconv.Atoi(strings.TrimPrefix(subject[0], "m")); err == nil {
		return p.shownMaster(slices.Concat(p.masters, p.replicas)[i], subject[1])
	}
	switch subject[0] {
	case "asks":
		defer func() { p.asks = nil }()
		return strings.Join(p.asks, ", ")
	case "asks-how-many":
		defer func() { p.asks = nil }()
		return strconv.Itoa(strings.Count(strings.Join(p.asks, ""), "lock:"))
	case "pushed":
		return strconv.FormatBool(p.wanted()(subject[1]))
	case "tracked":
		return strings.Join(p.trackedPatterns(), " ")
	case "certain":
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(p.table.entries)) {
			texts = append(texts, key+" "+string(p.table.entries[key].lock.Confidence))
		}
		return strings.Join(texts, ", ")
	case "refused":
		return strings.Join(slices.Sorted(maps.Keys(p.table.refused)), " ")
	case "reports":
		return p.reports()
	case "votes":
		e := p.table.entries[subject[1]]
		if e == nil {
			return "none"
		}
		var texts []string
		for _, v := range e.votes {
			texts = append(texts, shownVote(v))
		}
		return strings.Join(texts, ", ")
	case "keys":
		return strings.Join(slices.Sorted(maps.Keys(p.table.entries)), " ")
	case "skipped":
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(p.table.foreign)) {
			texts = append(texts, key+" until "+second(p.table.foreign[key].until))
		}
		return strings.Join(texts, ", ")
	case "due":
		var texts []string
		for key, at := range p.expiries.at {
			texts = append(texts, key+" "+second(at))
		}
		slices.Sort(texts)
		return strings.Join(texts, ", ")
	case "wakes":
		return second(p.now().Add(p.nextWake(p.now())))
	case "done":
		return strconv.FormatBool(p.done())
	}
	return p.shownBackend(p.describe(), subject[0])
}

func (p *played) shownBackend(b *inspect.Backend, subject string) string {
	p.t.Helper()
	switch subject {
	case "backend":
		text := fmt.Sprintf("%s, %s, %s, %d keys, lost %d", b.State, b.Mode, b.Topology, b.Scanned, b.Lost)
		if !b.FirstPass {
			text += ", first pass"
		}
		return text
	case "error":
		return b.Error
	case "unseen":
		return shownUnseen(b.Unseen)
	case "sought":
		s := b.Sought
		first := s.For[:min(4, len(s.For))]
		return fmt.Sprintf("%v among %d (counted %v) in %d, elsewhere %v", first, s.Among, s.Counted, s.Database, s.Elsewhere)
	case "limit":
		return fmt.Sprint(b.Cost.Limit, " ", b.Cost.Duty)
	case "servers":
		var texts []string
		for _, s := range b.Servers {
			cluster := map[bool]string{true: " in a cluster"}[s.Cluster]
			texts = append(texts, fmt.Sprint(s.Addr, " ", s.State, " ", s.Role, " ", s.Latency, cluster))
		}
		return strings.Join(texts, ", ")
	}
	p.t.Fatalf("unknown subject %q", subject)
	return ""
}

// shownMaster is what the run knows about a master.
func (p *played) shownMaster(m *masterState, subject string) string {
	p.t.Helper()
	s := m.server
	switch subject {
	case "reads":
		return fmt.Sprint(strings.Join(slices.Sorted(maps.Keys(m.wanted)), " "), " ", m.probe)
	case "expected":
		keys := p.present(m, p.now())
		slices.Sort(keys)
		return strings.Join(keys, " ")
	case "server":
		return fmt.Sprintf("%s, fault %q, clock %v ±%v, started %s, memory %d %q",
			cmp.Or(s.Error, "ok"), s.Fault, s.ClockOffset, s.ClockWithin, second(s.StartedAt), s.MaxMemory, s.EvictionPolicy)
	case "status":
		select {
		case <-m.restart:
			return "requested"
		default:
			return "not requested"
		}
	case "rests":
		return strconv.FormatBool(m.resting.Load())
	case "audited":
		defer func() { m.counting = false }()
		return fmt.Sprint(m.counting, " ", second(m.auditedAt))
	}
	p.t.Fatalf("unknown subject of a master %q", subject)
	return ""
}

// reports shows the updates since the script last looked, each with its time.
func (p *played) reports() string {
	var texts []string
	for _, u := range p.emitted {
		at := second(u.At) + " "
		if u.Gap != nil {
			texts = append(texts, fmt.Sprint("gap of ", u.Gap.Backend, " ", second(u.Gap.From), " to ", second(u.Gap.Until)))
		}
		for _, l := range u.Put {
			texts = append(texts, at+shownLock(l))
		}
		for _, id := range u.Gone {
			texts = append(texts, at+id.Path+" gone")
		}
	}
	p.emitted = nil
	return strings.Join(texts, "; ")
}
