package screen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func FuzzFilter(f *testing.F) {
	for _, text := range []string{"held age>5m", "!wait<=1h queue=3", "lib=x kind=", "client=10.", "ttl<99999d", "=>", "age>>1s", "\xff!"} {
		f.Add(text)
	}
	s := fixture.Everything()
	f.Fuzz(func(t *testing.T, text string) {
		filter, words := NewFilter(text), NewWords(text)
		for l := range s.Locks() {
			filter.Match(FilterSubject{l, s, fixture.Noon.Add(time.Hour)})
			words.MatchText(l.ID.String())
		}
		printed := strings.ReplaceAll(filter.Problem(), `\`, "")
		must.Equal(t, inspect.Escape(printed), printed, "unsafe")
	})
}

func TestBadFieldsAreReported(t *testing.T) {
	s := fixture.Everything()
	all := matching(s, "")
	for text, says := range map[string]string{
		"age>":       "age>: use a time with its unit",
		"age>5":      "age>5: use a time with its unit",
		"age=5m":     "write age>5m or age<5m",
		"queue>x":    "queue>x: use a number",
		"kind=mutes": "kind=mutes: use one of mutex rw semaphore",
		"lib>x":      "lib>: write lib=WORD",
		"lib=":       "lib=: use a word",
		"foo=bar":    `no field "foo"`,
		"!ttl<2":     "ttl<2: use a time",
		"wait<\x1b[": `\u{1b}`,
		"~(":         "missing closing )",
		"holder~[":   "missing closing ]",
		"~":          "regular expression",
		"wait~5m":    "write wait>5m",
	} {
		f := NewFilter(text)
		must.Contain(t, f.Problem(), says, text)
		must.NoDiff(t, cmp.Diff(all, matching(s, text)), text, "hides locks")
	}
}

// A filter has alternatives and regular expressions, and every column is a field.
func TestFilterFields(t *testing.T) {
	s := fixture.Everything()
	red := inspect.Escape(fixture.Hostile().ID.Path)
	all := matching(s, "")
	for text, want := range map[string][]string{
		"held":               {red, "/locks/billing", "/locks/orders", "lock:cart:42"},
		"!held":              {"/locks/nightly", "lock:dark", "lock:invoices", "lock:left"},
		"free":               {"/locks/nightly"},
		"FREE":               {"/locks/nightly"},
		"waiting":            {"/locks/billing", "/locks/orders"},
		"contended lib=kaz":  {"/locks/billing"},
		"finding":            {red, "/locks/orders", "lock:invoices", "lock:left"},
		"critical":           {"lock:invoices"},
		"warning":            {"/locks/orders", "lock:left"},
		"split":              {"lock:invoices"},
		"unknown":            {"lock:dark"},
		"age>5m":             {red, "/locks/orders"},
		"age>14m":            {red},
		"age<1s":             {"lock:cart:42"},
		"!age>5m held":       {"/locks/billing", "lock:cart:42"},
		"age>=0s":            {red, "/locks/billing", "/locks/orders", "lock:cart:42"},
		"age>1d":             nil,
		"wait>1m":            {"/locks/orders"},
		"wait>11s":           {"/locks/billing", "/locks/orders"},
		"queue>2":            {"/locks/billing", "/locks/orders"},
		"queue=0 held":       {red, "lock:cart:42"},
		"queue<=2 held":      {red, "lock:cart:42"},
		"ttl<7s":             {"lock:cart:42"},
		"lib=curator":        {"/locks/orders"},
		"kind=rw":            {"/locks/billing"},
		"kind=red backend=r": {"lock:cart:42", "lock:dark", "lock:invoices", "lock:left"},
		"backend=zk !held":   {"/locks/nightly"},
		"client=10.2.0.2":    {"/locks/billing", "/locks/orders"},
		"client=10.2.0.":     {"/locks/billing", "/locks/orders"},
		"client=10.2.0":      {"/locks/billing", "/locks/orders"},
		"client=1":           nil,
		"rule=stuck-holder":  {"/locks/orders"},
		"label=worker-7":     {"/locks/orders"},
		"session=0x10000abcd025a": {
			"/locks/orders",
		},
		"worker-7":                      {"/locks/orders"},
		"!locks !lock:":                 nil,
		"locks !billing held":           {red, "/locks/orders"},
		"!":                             all,
		"held>5m":                       {red, "/locks/orders"},
		"holder=worker-3":               {"/locks/orders"},
		"holder~^WORKER-[0-9]$":         {"/locks/orders"},
		"client=worker-7":               {"/locks/orders"},
		"holder=0000000602":             {"/locks/orders"},
		"0000000602":                    nil, // the znode of a named owner
		"finding=stuck | free":          {"/locks/nightly", "/locks/orders"},
		"lock~^/locks/(o|n) or kind=rw": {"/locks/billing", "/locks/nightly", "/locks/orders"},
		"~^zk:/locks/n":                 {"/locks/nightly"},
		"!~^zk !~^redis:lock:[cil]":     {"lock:dark"},
		"library=curator held or":       {"/locks/orders"},
	} {
		t.Run(text, func(t *testing.T) {
			must.Equal(t, NewFilter(text).Problem(), "", "problem")
			must.NoDiff(t, cmp.Diff(want, matching(s, text)))
		})
	}
}

func TestMutedLocksAreFound(t *testing.T) {
	s := fixture.Everything()
	must.Equal(t, len(matching(s, "muted")), 0, "muted")
	l := s.Lock(fixture.Orders().ID)
	l.Findings = append(l.Findings, fixture.Trouble("herd", inspect.Info, ""))
	l.Findings[0].Muted = &inspect.Muted{}
	must.Same(t, matching(s, "muted"), []string{"/locks/orders"}, "muted")
}

// A hold that began before watching counts as if it began then, which is how it is drawn.
func TestUnknownHoldAgeCountsFromWatching(t *testing.T) {
	s := fixture.Everything()
	l := *fixture.Thin()
	h := l.Holders[0]
	h.Since, h.HeldSince, h.Seen = time.Time{}, time.Time{}, fixture.Ago(11*time.Minute)
	l.Holders = []inspect.Contender{h}
	for text, want := range map[string]bool{"held>10m": true, "held>12m": false, "held<12m": true} {
		must.Equal(t, NewFilter(text).Match(FilterSubject{&l, s, fixture.Noon}), want, text)
	}
	must.True(t, !HeldSince(&l).IsZero(), "the lock has no place in the order")
}

// The matches of a timed filter change without new data. "age>" is no term but a word.
func TestAgesAndTTLsMakeFiltersTimed(t *testing.T) {
	for text, want := range map[string]bool{"age>5m": true, "x !ttl<2s": true, "held queue>3 lib=x": false, "age>": false} {
		must.Equal(t, NewFilter(text).Timed, want, text)
	}
}

func TestWordsMatchAnyText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "ord": true, "ORD worker": true, "ord !worker": false, "!x": true, "age>5m": false, "held": false,
		"nightly or ~^work.*3$": true, "zk: or nightly": true, "~^work.*r$": false,
	} {
		must.Equal(t, NewWords(text).MatchText("zk:/locks/Orders", "Worker-3"), want, text)
	}
}

func matching(s *inspect.Snapshot, text string) []string {
	f := NewFilter(text)
	var found []string
	for l := range s.Locks() {
		if f.Match(FilterSubject{l, s, fixture.Noon}) {
			found = append(found, inspect.Escape(l.ID.Path))
		}
	}
	slices.Sort(found)
	return found
}

// token= matches the end of a Redis value, but not of a znode's name or of a cut value. lib= matches
// the library of any contender.
func TestFilterByTokenAndLibrary(t *testing.T) {
	holding := func(id, name string, changes ...func(*inspect.Lock)) *inspect.Lock {
		l := &inspect.Lock{ID: fixture.Id(id), State: inspect.StateHeld, Recipe: "redsync", Holders: []inspect.Contender{{Name: inspect.Untrusted(name), State: inspect.Holding}}}
		if l.ID.Backend == "redis" {
			l.Masters = []inspect.Vote{{Up: true}}
		}
		for _, change := range changes {
			change(l)
		}
		return l
	}
	s := inspect.NewSnapshot(fixture.Noon, nil, []*inspect.Lock{
		holding("redis:a", "abc-9F3A"), holding("redis:b", "9f3a-abc"), holding("zk:/c", "lock-9f3a"),
		holding("redis:cut", "abc-9f3a", func(l *inspect.Lock) { l.Holders[0].Special = inspect.Special{Digest: "sha256:0"} }),
		holding("redis:mixed", "x", func(l *inspect.Lock) { l.Holders[0].Special = inspect.Special{Recipe: "redisson"} }),
	})
	for text, want := range map[string][]string{
		"token=9f3a": {"a"}, "token~^9f": {"b"}, "!token=9f3a lib=redsync": {"/c", "b", "cut", "mixed"}, "lib=redisson": {"mixed"},
	} {
		must.Same(t, matching(s, text), want, text)
	}
}
