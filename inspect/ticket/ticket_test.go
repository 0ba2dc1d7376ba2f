package ticket

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.FixedZone("CEST", 2*3600))

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func node(name, label string, sequence int32, since time.Duration) inspect.Contender {
	return inspect.Contender{
		Name: inspect.Untrusted(name), Sequence: sequence, Sequential: true, Since: ago(since), State: inspect.Waiting, Count: 1,
		Owner: inspect.Owner{Label: inspect.Untrusted(label), Session: 0x10000 + int64(sequence), Client: "10.2.0.4:53122"},
	}
}

// orders is a held lock with a queue, a finding and a past.
func orders() (*inspect.Snapshot, *inspect.Lock) {
	a, b, c := node("_c_aa-lock-0000000602", "worker-3", 602, 842*time.Second), node("_c_bb-lock-0000000603", "worker-7", 603, 838*time.Second), node("_c_cc-lock-0000000604", "", 604, 9*time.Minute)
	a.State, a.HeldSince, a.BlockedBelow = inspect.Holding, a.Since.Add(4*time.Second), 2
	b.Watches, b.Watch, b.BlockedBelow = a.Name, inspect.Confirmed, 1
	c.Watches, c.Watch = b.Name, inspect.Missing
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/locks/orders"}, Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain,
		State: inspect.StateContended, Holders: []inspect.Contender{a}, Waiters: []inspect.Contender{b, c}, ReadAt: noon,
		Findings: []inspect.Finding{{
			Rule: "stuck-holder", Severity: inspect.Warning, Message: "worker-3 has held it for over 10m, 40 times its usual p99, while 2 wait",
			Evidence: map[string]any{"contender": a.Name, "held_since": time.Date(2026, 5, 4, 9, 46, 2, 0, time.UTC), "hold_p99_ms": int64(21_000), "cause": "a client that hangs"},
			Steps: []inspect.Step{
				{Verb: inspect.VerbWait, Why: "see what worker-3 does"},
				{Verb: inspect.VerbRelease, Why: "if it hangs", Command: "lockscope release zk:/locks/orders --owner _c_aa-lock-0000000602"},
			},
		}},
	}
	b0 := &inspect.Backend{
		Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch,
		Servers: []inspect.Server{{Addr: "10.1.0.1:2181", State: inspect.ServerUp, ClockKnown: true, ClockOffset: 12 * time.Millisecond}},
	}
	return inspect.NewSnapshot(noon, []*inspect.Backend{b0}, []*inspect.Lock{l}), l
}

// cart is a Redlock without a vote to spare.
func cart() (*inspect.Snapshot, *inspect.Lock) {
	var votes []inspect.Vote
	for _, addr := range []string{"10.2.1.1:6379", "10.2.1.2:6379"} {
		votes = append(votes, inspect.Vote{Addr: addr, Up: true, Present: true, Value: "Y2NjY2Nj", ExpiresAt: noon.Add(7 * time.Second)})
	}
	votes = append(votes, inspect.Vote{Addr: "10.2.1.3:6379", Error: "no answer for 3.2s"})
	l := inspect.KeyLock(inspect.ID{Backend: "redis", Path: "lock:cart"}, votes, noon)
	b := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePush}
	return inspect.NewSnapshot(noon, []*inspect.Backend{b}, []*inspect.Lock{l}), l
}

// nasty contains control sequences and markup of terminals, Markdown, HTML and XML.
const nasty = "x`|``\x1b]52;c;AAAA\a\u202e\r\n# h1\n| a | [l](http://e.vil) ![i](http://e.vil/i) <img src=x onerror=alert(1)> <!-- **b** _e_ ~~s~~ @ops #12 www.e.vil \\` &lt; ]]></text></svg><script>\xff"

func hostile() (*inspect.Snapshot, *inspect.Lock) {
	a, b := node(nasty, nasty, 1, time.Minute), node(nasty+"2", nasty, 2, time.Second)
	a.State = inspect.Holding
	b.Watches, b.Watch = a.Name, inspect.Missing
	a.Owner.Client, a.Owner.Process = nasty, inspect.Process{Host: nasty, PID: nasty}
	b.Owner.LibraryID = nasty
	escaped := inspect.Escape(nasty)
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/" + nasty}, Kind: inspect.KindMutex, Recipe: "kazoo", State: inspect.StateContended, ReadAt: ago(time.Hour),
		Holders: []inspect.Contender{a}, Waiters: []inspect.Contender{b},
		Masters: []inspect.Vote{{Addr: nasty, Up: true, Present: true, Value: nasty}, {Addr: nasty, Error: nasty}},
		Findings: []inspect.Finding{{
			Rule: "herd", Severity: inspect.Critical, Message: escaped,
			Steps:    []inspect.Step{{Verb: inspect.VerbRelease, Why: escaped, Command: "lockscope release " + describe.Quote(escaped)}},
			Evidence: map[string]any{"odd": escaped, "list": []any{map[string]any{"addr": escaped}}, "contender": inspect.Untrusted(nasty)},
		}},
		Unseen: []inspect.Unseen{{Aspect: inspect.AspectHolders, Where: nasty, Read: nasty, Reason: nasty, Right: nasty}},
	}
	b0 := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Degraded, Error: nasty}
	return inspect.NewSnapshot(noon, []*inspect.Backend{b0}, []*inspect.Lock{l}), l
}

func of(make func() (*inspect.Snapshot, *inspect.Lock)) Ticket {
	s, l := make()
	return Of(describe.View{Snapshot: s, Now: noon}, l, nil)
}

func written(t *testing.T, ticket Ticket, form string) string {
	t.Helper()
	return must.Have(ticket.In(form))(t)
}

func TestTicketsMatchGoldenFiles(t *testing.T) {
	for name, ticket := range map[string]Ticket{"orders": of(orders), "cart": of(cart)} {
		for _, form := range Forms() {
			got := written(t, ticket, form)
			path := filepath.Join("testdata", name+Extension(form))
			if *update {
				must.Succeed(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want := must.Have(os.ReadFile(path))(t)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got; after looking at it: go test ./inspect/ticket -update):\n%s", path, diff)
			}
		}
	}
}

// Whatever names a server uses, nothing in a ticket controls the terminal that prints it.
func TestTicketDoesNotControlTerminal(t *testing.T) {
	ticket := of(hostile)
	for _, form := range Forms() {
		for i, r := range written(t, ticket, form) {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Errorf("%s has %U at %d", form, r, i)
			}
		}
	}
}

// A ticket rendered as Markdown has our headings and tables, and none made by a server's text:
// no link, image, HTML or emphasis, and no more rows or cells.
func TestServerTextAddsNoMarkdown(t *testing.T) {
	source := []byte(written(t, of(hostile), "markdown"))
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	count := make(map[ast.NodeKind]int)
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		count[n.Kind()]++
		switch n := n.(type) {
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
			t.Errorf("a %s", n.Kind())
		case *ast.Text:
			if n.Parent().Kind() != ast.KindCodeSpan && strings.ContainsAny(string(n.Segment.Value(source)), "@") {
				t.Errorf("a mention: %q", n.Segment.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	must.Succeed(t, err)
	for kind, want := range map[string]int{"Heading": 6, "Table": 3, "TableRow": 4, "TableCell": 2*7 + 2*7 + 3*4, "Emphasis": 1, "Strikethrough": 0, "FencedCodeBlock": 1} {
		got := 0
		for k, n := range count {
			if k.String() == kind {
				got += n
			}
		}
		if got != want {
			t.Errorf("%d of %s, want %d\n%s", got, kind, want, source)
		}
	}
}

// A long queue is listed in part, and says so.
func TestLongQueueIsListedInPart(t *testing.T) {
	s, l := orders()
	for i := range int32(200) {
		l.Waiters = append(l.Waiters, node("w", "", 700+i, time.Second))
	}
	ticket := Of(describe.View{Snapshot: s, Now: noon}, l, nil)
	if text := written(t, ticket, "markdown"); !strings.Contains(text, "and 152 more.") || strings.Count(text, "\n| `w`") != mostWaiters-2 {
		t.Errorf("%d waiters listed", strings.Count(text, "\n| `w`"))
	}
}

// The ticket's own finding comes first, whatever else is wrong, and appears once.
func TestTheFindingComesFirst(t *testing.T) {
	s, l := orders()
	l.Findings = append(l.Findings, inspect.Finding{Rule: "herd", Severity: inspect.Info, Message: "a herd"})
	text := written(t, Of(describe.View{Snapshot: s, Now: noon}, l, &l.Findings[1]), "markdown")
	if !strings.HasPrefix(text, "# herd: `zk:/locks/orders`") || strings.Count(text, "a herd") != 1 {
		t.Error(text)
	}
	if text := written(t, Of(describe.View{Snapshot: s, Now: noon}, l, nil), "markdown"); !strings.HasPrefix(text, "# stuck-holder: ") {
		t.Error(text)
	}
}

func TestBackendFindingHasItsTicket(t *testing.T) {
	s, _ := orders()
	b := s.Backends[0]
	f := inspect.Finding{Rule: "blind", Severity: inspect.Info, Message: "the AdminServer refuses"}
	ticket := OfBackend(describe.View{Snapshot: s, Now: noon}, b, &f)
	if _, err := ticket.In("picture"); err == nil {
		t.Error("an unknown form is accepted")
	}
	if text := written(t, ticket, "markdown"); !strings.Contains(text, "# blind: `zk`") || !strings.Contains(text, "the AdminServer refuses") {
		t.Error(text)
	}
	var j struct{ Name string }
	if err := json.Unmarshal([]byte(written(t, ticket, "json")), &j); err != nil || j.Name != "zk" {
		t.Errorf("%v %v", j, err)
	}
}
