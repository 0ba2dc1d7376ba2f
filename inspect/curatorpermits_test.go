package inspect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockscope/inspect/recipe"
)

// gate plays Curator's nodes and the watches on them. Words are NUMBER@SESSION, or NUMBER where the session has that number,
// and >NUMBER for whom its session watches.
type gate struct {
	t     *testing.T
	l     *Lock
	at    time.Time
	watch map[string][]int64
}

func gateName(number string) string {
	return fmt.Sprintf("_c_%s-lock-%010s", "e3b0c442-98fc-1c14-9afb-f4c8996fb924", number)
}

var gateNumber = regexp.MustCompile(`_c_[0-9a-f-]+-lock-0*(\d+)`)

// list reads the directory, as an Observer takes it in, and says which events that makes.
func (g *gate) list(words string) string {
	g.t.Helper()
	g.at = g.at.Add(time.Second)
	g.watch = map[string][]int64{}
	var nodes []Znode
	for _, word := range strings.Fields(words) {
		word, watched, watches := strings.Cut(word, ">")
		number, owner, other := strings.Cut(word, "@")
		if !other {
			owner = number
		}
		session, err := strconv.ParseInt(owner, 10, 64)
		if err != nil {
			g.t.Fatal(err)
		}
		nodes = append(nodes, node(gateName(number), session))
		if watches {
			p := "/l/" + gateName(watched)
			g.watch[p] = append(g.watch[p], session)
		}
	}
	was := g.l
	l := FreeDirectory(ID{"zk", "/l"}, was, g.at)
	if len(nodes) > 0 {
		l = directoryLock(ID{"zk", "/l"}, nodes, g.at)
	}
	g.l = clone(l)
	if was == nil {
		return ""
	}
	carry(was, g.l, 0, false)
	return gateNumber.ReplaceAllString(short(compare(was, g.l, view{at: g.at})), "$1")
}

// look reads the table of watches a moment after the directory.
func (g *gate) look(unheard ...int64) {
	l := clone(g.l)
	confirmWatches(l, &WatchTable{Backend: "zk", ReadAt: g.at.Add(WatchSettle), Sessions: g.watch, Unheard: unheard})
	g.l = l
}

// seen lists and looks, and lists again, as a source does where a watch is missing, until nothing more comes of it.
func (g *gate) seen(words string) string {
	g.t.Helper()
	g.list(words)
	for range 3 {
		g.look()
		g.list(words)
	}
	return g.stands()
}

// stands words the lock's state, with its holders and each waiter's predecessor.
func (g *gate) stands() string {
	number := func(name Untrusted) string {
		n, _ := strconv.Atoi(name.Raw()[len(name)-10:])
		return strconv.Itoa(n)
	}
	words := []string{string(g.l.Kind) + ":"}
	for _, c := range g.l.inOrder() {
		word := number(c.Name)
		if c.State == Waiting {
			if word += ">"; c.Watches != "" {
				word += number(c.Watches)
			}
			if c.Watch == Missing {
				word += "!"
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func newGate(t *testing.T) *gate { return &gate{t: t, at: now} }

func TestCuratorsDeprecatedSemaphoreIsDistinguishedFromItsMutex(t *testing.T) {
	for _, tt := range []struct{ name, nodes, want string }{
		{"three permits, two wait", "1 2 3 4>1 5>2", "semaphore: 1 2 3 4>1 5>2"},
		{"one client has two of them", "1@7 2@7 3@8 4@9>1", "semaphore: 1 2 3 4>1"},
		{"and waits for a third", "1@7 2@7 3@7>1", "mutex: 1 2>1 3>2!"}, // it watches its own: no evidence
		{"and waits for another's", "1@8 2@7 3@7>1", "semaphore: 1 2 3>1"},
		{"room for all", "1 2 3", "semaphore: 1 2 3"},
		{"room for two, or a lost wake-up", "1 2", "mutex: 1 2>1!"},
		{"a mutex", "1 2>1 3>2", "mutex: 1 2>1 3>2"},
		{"a mutex with a lost wake-up", "1 2>1 3", "mutex: 1 2>1 3>2!"},
		{"a client with two threads in a mutex", "1@7 2@8>1 3@7>2 4@8>3", "mutex: 1 2>1 3>2 4>3"},
	} {
		if got := newGate(t).seen(tt.nodes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What is read once, before the table can have the watch of who has just come, and what no server reports, changes nothing.
func TestASemaphoreIsRecognisedBySettledWatchesOnly(t *testing.T) {
	g := newGate(t)
	g.list("1 2 3 4>1")
	g.look()
	if got := g.stands(); got != "mutex: 1 2>1 3>2 4>3" {
		t.Errorf("after one table: %s", got)
	}
	g = newGate(t)
	g.list("1 2 3")
	for range 3 {
		g.look(2, 3)
		g.list("1 2 3")
	}
	if got := g.stands(); got != "mutex: 1 2>1 3>2" {
		t.Errorf("of sessions whose watches nobody tells: %s", got)
	}
	// Two nodes, of which the other's end is on its way: 2 watched 1, which has gone since.
	g = newGate(t)
	g.list("1 2>1 3>2")
	g.look()
	g.list("1 3>1")
	g.look()
	if got := g.stands(); got != "mutex: 1 3>1" {
		t.Errorf("%s", got)
	}
}

func TestASemaphoreGoesOnAsOne(t *testing.T) {
	g := newGate(t)
	if got := g.seen("1 2 3 4>1 5>2"); got != "semaphore: 1 2 3 4>1 5>2" {
		t.Fatal(got)
	}
	for _, step := range []struct{ nodes, stands, events string }{
		{"1 2 3 4>1 5>2 6>3", "semaphore: 1 2 3 4>1 5>2 6>", "waiting 6"},
		{"2 3 4 5>2 6>3", "semaphore: 2 3 4 5>2 6>", "released 1, handover 1>4"},
		{"2 4 5>2 6>2", "semaphore: 2 4 5>2 6>", "released 3"}, // its end wakes 6 only, which watches 2 now; 5 is not woken
		{"4 5 6", "semaphore: 4 5 6", "released 2, handover 2>5, handover 2>6"},
		{"5 6", "semaphore: 5 6", "released 4"},
		{"5 6 7", "semaphore: 5 6 7", "acquired 7"},
		{"5 6 7 8>5", "semaphore: 5 6 7 8>", "waiting 8"},
	} {
		events := g.list(step.nodes)
		if got := g.stands(); got != step.stands || events != step.events {
			t.Errorf("%s: %q %q, want %q %q", step.nodes, got, events, step.stands, step.events)
		}
	}
	g.look()
	if got := g.stands(); got != "semaphore: 5 6 7 8>5" || g.l.Waiters[0].Watch != Confirmed {
		t.Errorf("with the table: %s", got)
	}
	// Its watch was fired by something else, and now it holds: two tables say so.
	if g.list("5 6 7 8"); g.stands() != "semaphore: 5 6 7 8>5" {
		t.Errorf("without one: %s", g.stands())
	}
	g.look()
	g.list("5 6 7 8")
	if got := g.stands(); got != "semaphore: 5 6 7 8>5" {
		t.Errorf("one table: %s", got)
	}
	g.look()
	if got := g.stands(); got != "semaphore: 5 6 7 8" {
		t.Errorf("two tables: %s", got)
	}
	if events := g.list(""); g.l.State != StateFree {
		t.Errorf("%s, %s", g.l.State, events)
	}
}

// Permits that are taken crosswise are no deadlock.
func TestPermitsMakeNoCycle(t *testing.T) {
	cycles := func(first, second string) int {
		a, b := newGate(t), newGate(t)
		a.seen(first)
		b.seen(second)
		b.l.ID.Path = "/m"
		return len(findCycles(func(yield func(*Lock) bool) { _ = yield(a.l) && yield(b.l) }))
	}
	if n := cycles("1@7 2@8", "1@8 2@7"); n != 0 {
		t.Errorf("two permits, or mutexes with lost wake-ups: %d", n)
	}
	if n := cycles("1@7 2@8 3@9", "1@8 2@7 3@9"); n != 0 {
		t.Errorf("three permits: %d", n)
	}
	if n := cycles("1@7 2@8>1", "1@8 2@7>1"); n != 1 {
		t.Errorf("two mutexes: %d", n)
	}
}

func TestPermitsKeepTheirConfidence(t *testing.T) {
	g := newGate(t)
	if g.seen("1 2 3"); g.l.Confidence != recipe.Likely || g.l.Limit != 0 {
		t.Errorf("%s, limit %d", g.l.Confidence, g.l.Limit)
	}
	g = newGate(t)
	if g.seen("1 2 3>1"); g.l.Confidence != recipe.Certain {
		t.Errorf("%s", g.l.Confidence)
	}
}
