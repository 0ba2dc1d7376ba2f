package ticket

import (
	"flag"
	"fmt"
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
	b := &inspect.Backend{
		Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePush,
		Servers: []inspect.Server{{ClockKnown: true, ClockOffset: -time.Second}},
	}
	return inspect.NewSnapshot(noon, []*inspect.Backend{b}, []*inspect.Lock{l}), l
}

// nasty contains control sequences and markup of terminals, Markdown, HTML and XML.
const nasty = "x`|```\x1b]52;c;AAAA\a\u202e\r\n# h1\n| a | [l](http://e.vil) " +
	"![i](http://e.vil/i) <img src=x onerror=alert(1)> <!-- **b** _e_ ~~s~~ @ops #12 www.e.vil \\` &lt; ]]></text></svg><script>\xff"

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

// past is a read-write lock with past holds, whose backend is down.
func past() (*inspect.Snapshot, *inspect.Lock) {
	a, b := node("read-7", "", 7, time.Hour), node("write-8", "", 8, time.Minute)
	a.Mode, a.NoExpiry, a.State = recipe.Shared, true, inspect.Holding
	a.Owner = inspect.Owner{Process: inspect.Process{Host: "h1", PID: "42", Thread: "3"}}
	b.Watches = a.Name
	history := &inspect.History{
		Since: ago(2 * time.Hour), Grants: 12, Handovers: 1, Waits: inspect.Spans{Count: 9, Max: time.Minute},
		Holds: inspect.Spans{Count: 10, P50: time.Second, P99: 2 * time.Second, Max: 3 * time.Second},
	}
	for i := range 11 {
		end := ago(time.Hour - time.Duration(i)*time.Minute)
		name := inspect.Untrusted(rune('a' + i))
		span := inspect.Span{Contender: name, Granted: end.Add(-time.Second), Ended: end}
		history.Recent = append(history.Recent, span)
	}
	history.Recent[8].Label, history.Recent[9].Granted, history.Recent[10].Ended = "worker-3", time.Time{}, time.Time{}
	l := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/past"}, Kind: inspect.KindRW, Recipe: "curator",
		Confidence: recipe.Likely,
		State:      inspect.StateContended, ReadAt: ago(time.Second), Observed: inspect.Observed{History: history},
		Holders: []inspect.Contender{a}, Waiters: []inspect.Contender{b, node("write-9", "", 9, time.Second)},
		Masters: []inspect.Vote{
			{Addr: "m1", Up: true, Present: true, Agrees: true},
			{Addr: "m2", Up: true},
			{Addr: "m3", Up: true, Present: true, Foreign: true, Value: "7"},
		},
		Findings: []inspect.Finding{
			{Rule: "herd", Severity: inspect.Info, Message: "a herd"},
			{
				Rule: "deadlock", Severity: inspect.Critical, Message: "a deadlock",
				Evidence: map[string]any{"list": []any{map[string]any{"addr": "a:1"}, map[string]any{"addr": "b:1"}}},
				Steps:    []inspect.Step{{Why: "wait", Command: "sleep 1"}, {Why: "then ask"}},
			},
		},
	}
	b0 := &inspect.Backend{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Down, Error: "no answer"}
	b0.Unseen = []inspect.Unseen{
		{Aspect: inspect.AspectServer, Where: "10.1.0.1:8080", Read: "stat", Reason: "refused"},
	}
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
	s, l := past()
	view, herd := describe.View{Snapshot: s, Now: noon}, &l.Findings[0]
	for name, ticket := range map[string]Ticket{
		"orders": of(orders), "cart": of(cart), "hostile": of(hostile),
		"past": of(past), "herd-first": Of(view, l, herd), "backend": OfBackend(view, s.Backends[0], herd),
	} {
		for _, form := range Forms() {
			got := written(t, ticket, form)
			path := filepath.Join("testdata", name+Extension(form))
			control := func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }
			must.True(t, strings.IndexFunc(got, control) < 0, path, "controls the terminal that prints it")
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
	text := written(t, ticket, "markdown")
	must.Equal(t, strings.Count(text, "\n| `w`"), mostWaiters-2, "waiters listed")
	must.True(t, strings.HasSuffix(text, "\nand 152 more.\n"), "the ticket ends otherwise", text)
}

func TestUnknownFormsAreRefused(t *testing.T) {
	_, err := of(cart).In("picture")
	must.Equal(t, fmt.Sprint(err), `ticket: unknown format "picture"`)
}
