package finding

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

var now = time.Date(2026, 11, 21, 3, 14, 15, 0, time.UTC)

// state is a state of a lock or a backend in which a rule fires or stays silent.
type state struct {
	name  string
	c     inspect.Case
	fires bool
}

// subject is what a rule is asked about, as of now.
type subject interface {
	*inspect.Lock | *inspect.Backend | inspect.Case
}

// fires is a state about which the rule of check reports something.
func fires[T subject](name string, about T, changes ...func(*inspect.Case)) state {
	return state{name, present(about, changes...), true}
}

// silent is a state about which the rule of check reports nothing.
func silent[T subject](name string, about T, changes ...func(*inspect.Case)) state {
	return state{name, present(about, changes...), false}
}

// check runs one rule on states. It must report what testdata/states has in the file with the
// test's name, which ends with the names of the silent states.
func check(t *testing.T, rule string, states ...state) {
	t.Helper()
	var page strings.Builder
	var quiet []string
	for _, s := range states {
		found := diagnose(t, rule, s.c)
		must.Equal(t, len(found) > 0, s.fires, s.name, "fires", shown(t, found))
		for i := range found {
			readable(t, found[i])
			supported(t, &s.c, &found[i])
		}
		if s.fires {
			fmt.Fprintf(&page, "%s\n%s\n", s.name, shown(t, found))
		} else {
			quiet = append(quiet, s.name)
		}
	}
	must.True(t, len(quiet) > 0 && len(quiet) < len(states), len(quiet), "silent of", len(states),
		"states: both kinds are needed")
	fmt.Fprintf(&page, "silent:\n  %s\n", strings.Join(quiet, "\n  "))
	matches(t, "testdata/states/"+t.Name()+".txt", page.String())
}

// shown writes findings as users see them, with their evidence. It has the subject if that is not a contender, and
// shortens the names of [queue].
func shown(t *testing.T, found []inspect.Finding) string {
	t.Helper()
	var b strings.Builder
	for _, f := range found {
		facts := maps.Clone(f.Evidence)
		if f.Subject.Contender == "" && !reflect.ValueOf(f.Subject).IsZero() {
			facts["subject"] = f.Subject
		}
		fmt.Fprintf(&b, "  %s, %s: %s\n  do: %s\n  ", f.Severity, f.Confidence, f.Message, f.Advice())
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		must.Succeed(t, encoder.Encode(facts))
	}
	return strings.ReplaceAll(b.String(), queuePrefix, "_c_…-")
}

var update = flag.Bool("update", false, "write the files that the findings determine")

// matches compares a text with a file, or writes it there with -update.
func matches(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want := must.Have(os.ReadFile(file))(t)
	must.NoDiff(t, cmp.Diff(string(want), text), file, "(run with -update to accept)")
}

// diagnose returns what one rule finds.
func diagnose[T subject](t *testing.T, name string, about T) []inspect.Finding {
	t.Helper()
	c := present(about)
	for _, r := range Rules() {
		if r.Name != name {
			continue
		}
		if r.Lock != nil && c.Lock != nil {
			return r.Lock(&c)
		}
		if r.Backend != nil && c.Backend != nil {
			return r.Backend(c.Backend, c.Now)
		}
	}
	t.Fatalf("no rule %s for this state", name)
	return nil
}

// readable checks that a finding is complete, short, and free of control characters.
func readable(t *testing.T, f inspect.Finding) {
	t.Helper()
	parts := []string{f.Message, f.Advice(), f.Rule, string(f.Severity), string(f.Confidence)}
	must.True(t, !slices.Contains(parts, ""), "incomplete:", f)
	must.True(t, len([]rune(f.Message)) <= 180, "too long:", f.Message)
	text := must.Have(json.Marshal(f))(t)
	var back inspect.Finding
	must.Succeed(t, json.Unmarshal(text, &back))
	for _, r := range f.Message + f.Advice() + fmt.Sprint(back.Evidence) {
		must.True(t, unicode.IsGraphic(r) && !unicode.Is(unicode.Bidi_Control, r), "character", r, "in", string(text))
	}
}

// everything returns cases and a backend that together make every rule fire.
func everything(text string) (cases []inspect.Case, backend *inspect.Backend) {
	raw := inspect.Untrusted(text)
	owner := inspect.Owner{Label: raw, Process: inspect.Process{Host: raw}, Session: 7, Client: text}
	zk := queue("go-zookeeper", 2)
	zk.ID.Path, zk.Aliens = "/"+text, []inspect.Untrusted{raw, raw}
	zk.Holders[0].Name, zk.Holders[0].Owner, zk.Holders[0].Persistent = raw, owner, true
	zk.Holders[0].Sequence, zk.Holders[0].HeldSince = -5, now.Add(-time.Hour)
	w := &zk.Waiters[0]
	w.Name, w.Owner, w.Special, w.Watches, w.Watch = raw+"2", owner, inspect.Special{Recipe: "kazoo"}, raw, inspect.Missing
	w.Sequence, w.Since = -4, now.Add(-time.Hour)
	zk.Kind, zk.Limit = inspect.KindMutex, 0
	redis := votes("aaacf")
	redis.ID.Path = text
	for i := range redis.Masters {
		m := &redis.Masters[i]
		m.Addr, m.Error = m.Addr+text, text
		if m.Present {
			m.Value = raw
		}
	}
	redis.Masters[0].NoExpiry = true
	redis.Masters[3].Up = false
	redis.Holders[0].Name, redis.Holders[0].Owner = raw, inspect.Owner{Label: raw, Process: inspect.Process{LibraryID: raw, Thread: "1"}}
	redis.Holders[0].Dead = true
	redis.Waiters = []inspect.Contender{
		{Name: raw, State: inspect.Waiting, Dead: true, Owner: redis.Holders[0].Owner}, {Name: raw + "2", State: inspect.Waiting, Owner: redis.Holders[0].Owner},
	}
	restarted := votes("aaa--")
	restarted.ID.Path, restarted.Holders[0].Name = text, raw
	late := history()
	late.Renewal = inspect.Renewal{Count: 9, Every: 2 * time.Second, Last: now.Add(-20 * time.Second)}
	zombie := history()
	zombie.Since = now.Add(-2 * time.Hour)
	zombie.Renewal = inspect.Renewal{Count: 9, Every: 2 * time.Second, Last: now}
	zombie.Overtaken = map[inspect.Untrusted]int{raw + "2": 12}
	split, minority := votes("ab-"), votes("a--")
	for _, l := range []*inspect.Lock{split, minority} {
		l.ID.Path, l.Masters[0].Value = text, raw
	}
	semaphore := queue("kazoo", 3)
	semaphore.Kind, semaphore.Limit, semaphore.Holders = inspect.KindSemaphore, 1, semaphore.Waiters
	semaphore.Holders[0].Name = raw
	hidden := inspect.Unseen{Aspect: inspect.AspectWaiters, Where: text, Read: text, Reason: text, Right: "READ on " + text}
	redis.Unseen = []inspect.Unseen{hidden, {Aspect: inspect.AspectHolders, Where: text, Read: text, Reason: text}}
	backend = &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Connected, Mode: inspect.ModeOnce, Unseen: []inspect.Unseen{hidden}, Servers: []inspect.Server{
		{Addr: "r4" + text, State: inspect.ServerUp, StartedAt: now.Add(-time.Second), ClockKnown: true, ClockOffset: time.Minute, Persistence: text},
		{Addr: "r4", State: inspect.ServerUp, StartedAt: now.Add(-time.Second), MaxMemory: 1 << 30, EvictionPolicy: "allkeys-" + text},
		{Addr: "r7" + text, State: inspect.ServerUp, Role: "master", Replicas: 2, WritesRefused: inspect.RefusedForSave},
		{Addr: "r8" + text, State: inspect.ServerUp, Role: "master", MaxMemory: 1 << 30, EvictionPolicy: "noeviction", WritesRefused: inspect.RefusedForMemory},
		{Addr: "r9" + text, State: inspect.ServerUp, Role: "master", WritesRefused: inspect.RefusedForReplicas},
		{Addr: "r10" + text, State: inspect.ServerUp, Role: "master", WritesRefused: inspect.RefusedForAOF},
	}}
	backend.Empty = inspect.EmptyDirs{Count: manyEmpty, Oldest: now, Under: "/" + text, UnderCount: 7}
	backend.Servers = append(backend.Servers, inspect.Server{Addr: "r5" + text, Role: "replica", State: inspect.ServerUp}, inspect.Server{Addr: "r6", Role: "master", State: inspect.ServerUp})
	backend.Outliers = []inspect.Outlier{{Owner: raw, Session: 7, Client: text, Under: "/" + text, Entries: 900, Holds: 800, Peers: 99, Usual: 2}}
	backend.Spread = inspect.Spread{Masters: 2, Locks: 9, OnOne: 9, Used: 2}
	first := queue("zookeeper-recipes", 2)
	first.Holders[0].Name, first.Holders[0].Sequence = inspect.Untrusted(text), 5
	first.Holders[0].Special = inspect.Special{WatchesGone: inspect.Untrusted(text + "0000000001")}
	cases = []inspect.Case{
		{
			Lock: zk, Watches: &inspect.WatchTable{Sessions: map[string][]int64{"/" + text: ids(100, 112)}},
			Cycle: &inspect.Cycle{
				Locks: []inspect.ID{zk.ID}, Owners: []string{text, text},
				Ties: []inspect.Tie{{Owner: 1, Session: 7, Backend: "zk", Client: raw, By: "name " + inspect.Escape(text), Certainty: recipe.Likely}},
			}, Sessions: map[int64]inspect.Session{}, AllSessions: true,
		},
		{Lock: zk, Sessions: map[int64]inspect.Session{7: {ID: 7}}}, // its client is connected
		{Lock: queue("kazoo", 2), Backend: &inspect.Backend{Kind: inspect.ZooKeeper, Mode: inspect.ModeOnce}},
		{Lock: redis, History: late},
		present(redis, seen(zombie)),
		{Lock: restarted, History: late},
		{Lock: restarted, Backend: backend},
		{Lock: split},
		{Lock: minority},
		{Lock: semaphore},
		{Lock: first, Watches: &inspect.WatchTable{}},
		{
			Lock: queue("curator", 2), Led: []inspect.Led{{Name: raw, Session: 77, At: now}},
			Sessions: map[int64]inspect.Session{77: {ID: 77, Client: text}},
		},
	}
	for i := range cases {
		cases[i].Now = now
	}
	return cases, backend
}

// findingsIn returns what all rules find in these cases and backends.
func findingsIn(cases []inspect.Case, backend *inspect.Backend) (found []inspect.Finding) {
	ensemble := &inspect.Backend{Kind: inspect.ZooKeeper, Servers: slices.Clone(backend.Servers)}
	for i := range ensemble.Servers {
		ensemble.Servers[i].Role = "standalone"
	}
	masters := *backend
	masters.Spread = inspect.Spread{}
	for _, r := range Rules() {
		if r.Backend != nil {
			found = append(found, r.Backend(backend, now)...)
			found = append(found, r.Backend(ensemble, now)...)
			found = append(found, r.Backend(&masters, now)...)
		}
		for _, c := range cases {
			found = append(found, of(&r, &c)...)
		}
	}
	return found
}

// of returns a rule's findings about a lock.
func of(r *inspect.Rule, c *inspect.Case) []inspect.Finding {
	if r.Lock == nil {
		return nil
	}
	return r.Lock(c)
}

// Text from servers is hostile. It must reach neither a terminal unescaped nor a shell into which
// advice is pasted.
func TestHostileNamesStayText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\x1b]52;c;aGk=\a\r\n", "a\u202eb\u200b\u009b", "\xff\xfe", "$(reboot)`reboot`'; reboot; '", "-rf", strings.Repeat("\x1b世", 400),
	} {
		rules := map[string]bool{}
		for _, f := range findingsIn(everything(text)) {
			readable(t, f)
			rules[f.Rule] = true
			must.True(t, !unquoted(f.Advice(), "reboot"), f.Rule, "a shell would run part of the advice:", f.Advice())
		}
		for _, r := range Rules() {
			must.True(t, rules[r.Name], r.Name, "found nothing: add a case in which it fires to everything()")
		}
	}
}

// unquoted reports whether a word is outside the single quotes of a shell.
func unquoted(text, word string) bool {
	outside := true
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && outside:
			i++
		case text[i] == '\'':
			outside = !outside
		case outside && strings.HasPrefix(text[i:], word):
			return true
		}
	}
	return false
}

func TestFindingsKeepTheSchema(t *testing.T) {
	t.Parallel()
	cases, backend := everything("x")
	found := findingsIn(cases, backend)
	lock := queue("kazoo", 2)
	lock.Findings = found
	backend.Findings = found
	text := must.Have(json.Marshal(jsonform.Snapshot(inspect.NewSnapshot(now, []*inspect.Backend{backend}, []*inspect.Lock{lock}))))(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema := must.Have(compiler.Compile("../../docs/snapshot.schema.json"))(t)
	document := must.Have(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))(t)
	must.Be(t, schema.Validate(document), nil, "the contract's schema")
}

// An unread, empty or healthy lock has no findings.
func TestUnremarkableLocksHaveNoFindings(t *testing.T) {
	t.Parallel()
	unknown := &inspect.Lock{ID: inspect.ID{Backend: "zk", Path: "/l"}, State: inspect.StateUnknown}
	locks := []*inspect.Lock{unknown, {}, inspect.FreeDirectory(unknown.ID, nil, now), queue("kazoo", 1), queue("curator", 10), votes("a")}
	for _, l := range locks {
		for _, r := range Rules() {
			for _, h := range []*inspect.History{nil, {}} {
				must.Equal(t, len(of(&r, &inspect.Case{Lock: l, Now: now, History: h})), 0, r.Name, "about", l.ID)
			}
			if r.Backend != nil {
				must.Equal(t, len(r.Backend(&inspect.Backend{}, now)), 0, r.Name, "about a backend")
			}
		}
	}
}

// The same state gives the same findings a moment later, so a running clock causes no new snapshot.
func TestFindingsIgnoreTheClock(t *testing.T) {
	t.Parallel()
	cases, backend := everything("x")
	before := findingsIn(cases, backend)
	for i := range cases {
		cases[i].Now = now.Add(100 * time.Millisecond)
	}
	after := findingsIn(cases, backend)
	must.Equal(t, shown(t, after), shown(t, before), "the findings a moment later")
	must.True(t, reflect.DeepEqual(before, after), "the findings changed, although nothing else did")
}

// On 80 columns, a message next to the rule's name and the advice have two lines each. The usual
// texts must fit.
func TestFindingsFitTheScreen(t *testing.T) {
	t.Parallel()
	for _, f := range findingsIn(everything("web-7.prod")) {
		must.True(t, len([]rune(f.Message)) <= 2*(72-len(f.Rule)), f.Rule, "is too long:", f.Message)
		must.True(t, len([]rune(f.Advice())) <= 2*74, f.Rule, "has advice that does not fit:", f.Advice())
	}
}

// condition is part of the text before a command that releases a lock.
var condition = regexp.MustCompile(`if |once |cheapest fix|that never expires`)

// supported checks that the advised action works on the lock. A release may be advised only with a
// condition, or as the cheapest fix.
func supported(t *testing.T, c *inspect.Case, f *inspect.Finding) {
	t.Helper()
	words := ""
	for _, step := range f.Steps {
		words += " " + step.Why
		redis := c.Lock != nil && len(c.Lock.Masters) > 0
		switch step.Verb {
		case inspect.VerbTTL:
			must.True(t, redis, "a TTL is advised for a lock in ZooKeeper:", f.Advice())
		case inspect.VerbAsk:
			listens := slices.ContainsFunc(c.Lock.Holders, func(h inspect.Contender) bool { return h.Revocable })
			must.True(t, !redis && listens, "advice to ask a holder that does not listen:", f.Advice())
		case inspect.VerbRelease:
			must.True(t, condition.MatchString(words), "a release is advised without a condition:", f.Advice())
		}
	}
}
