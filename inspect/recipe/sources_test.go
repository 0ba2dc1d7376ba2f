package recipe

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "write docs/recipes.md")

// found is the recipe that recognised some data, and with what confidence.
type found struct {
	recipe string
	sure   Confidence
}

// written is one way in which a library writes a lock, according to its source.
type written struct {
	library, recipe string
	read            string     // the version of the library that was read
	file            string     // its file
	function        string     // the function that writes the lock
	proof           string     // how it is recognised
	alike           string     // programs that write something similar
	sure            Confidence // the highest confidence
	ours            []string   // our functions that may return Certain
	is              found      // how we read what the library writes
	near            []found    // how we read similar data, which must be less certain
}

const session = 0x1000012e47a0000

// child reads a znode of that name, session and data. Session 0 is a persistent node.
func child(name string, session int64, data string) found {
	_, entries := Read([]string{name})
	if len(entries) == 0 {
		return found{}
	}
	e := entries[0]
	e.Session = session
	if c := Proved(e, []byte(data), false); c != "" {
		return found{e.Recipe, c}
	}
	return found{sequentialName, Possible}
}

// text is the recipe of a string.
func text(key, value string) found {
	t := DecodeToken(key, value)
	return found{t.Recipe, t.Confidence}
}

// keyed reads a key that expires in a minute, with auxiliary keys.
func keyed(key string, main Value, auxiliary ...any) found {
	r, _ := DecodeKeys(locked(key, main, auxiliary...))
	return found{r.Recipe, r.Confidence}
}

var (
	sourcesNow = time.UnixMilli(1795317377191)
	inAMinute  = sourcesNow.Add(time.Minute)
	ends       = float64(inAMinute.UnixMilli())
)

func forever(v Value) Value { v.NoExpiry = true; return v }

func plain(s string) Value { return Value{Type: TypeString, Text: s} }

// alone is the recipe of a node without siblings.
func alone(dir, data string, ephemeral bool) found {
	s, _ := ReadSingle(dir+"/node", []byte(data), ephemeral, true)
	return found{s.Recipe, s.Confidence}
}

func sources() []written {
	return slices.Concat(recipeSources(), queueSources(), nodeSources(), keySources, catalogueSources())
}

// catalogueSources are our own tokens and the rows of the catalogue.
func catalogueSources() []written {
	rows := []written{
		{
			library: "lockscope", recipe: lockscopeName, read: "this tree", file: "inspect/recipe/lockscope.go", function: "LockscopeToken",
			proof: "`lockscope:`, base64 of 16 bytes, a colon and a label", alike: "none", sure: Certain, ours: []string{"lockscopeToken", "lockscopeDecode"},
			is: text("lock:a", LockscopeToken([16]byte{1}, "a")), near: []found{text("lock:a", "lockscope:short:x"), text("lock:a", "lockscope:a")},
		},
	}
	for _, l := range catalogue() {
		if l.Library == "" {
			continue
		}
		w := written{library: l.Library, recipe: l.Name, read: l.Read, proof: l.Proof, alike: l.Alike, is: l.found(l.Example)}
		w.file, w.function, _ = strings.Cut(l.Source, ": ")
		if w.sure = l.custom.patterns.ConfidenceIfNamed; w.sure == "" {
			w.sure = l.Confidence
		}
		if w.sure == Certain {
			w.ours = []string{"NewCustom"}
		}
		for _, e := range l.Not {
			w.near = append(w.near, l.found(e))
		}
		rows = append(rows, w)
	}
	return rows
}

// found reads an example with all recipes of its backend.
func (l library) found(e example) found {
	if l.Backend == "redis" {
		return text(e.Key, e.Value)
	}
	s, _ := ReadSingle(e.Key, []byte(e.Value), !l.Persistent, true)
	return found{s.Recipe, s.Confidence}
}

// The values in the rows.
const (
	md5Hex  = "5d41402abc4b2a76b9719d911017c592"
	base32  = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=" // of 32 bytes
	base16  = "Y2NjY2NjY2NjY2NjY2NjYw=="
	base18  = "YWFhYWFhYWFhYWFhYWFhYWFh"
	owner   = uuid + ":57"
	random  = "\x00\xff0123456789abcd"
	machine = "web1_11_" + guid
)

// Every recognised format has a row, is read as its row says, and its look-alikes are not.
func TestEveryRecipeMatchesItsLibrary(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range sources() {
		seen[w.recipe] = true
		must.Equal(t, w.is, found{w.recipe, w.sure}, w.library, "is read as")
		if w.sure != Possible && len(w.near) == 0 || w.sure == Certain && len(w.ours) == 0 {
			t.Errorf("%s has no near miss, or no function that returns Certain", w.library)
		}
		for i, n := range w.near {
			if rank(n.sure) > rank(Likely) || n.recipe == w.recipe && rank(n.sure) >= rank(w.sure) {
				t.Errorf("%s: near miss %d is read as %+v", w.library, i, n)
			}
		}
		if w.read == "" || w.file == "" || w.function == "" || w.proof == "" {
			t.Errorf("%s: the row is incomplete: %+v", w.library, w)
		}
	}
	for _, q := range Queues() {
		must.True(t, seen[q.Name], "no row for the queues of", q.Name, "- add it to zksources_test.go")
	}
	for _, s := range shapes() {
		must.True(t, s.Decode == nil || seen[s.Name], "no row for the keys of", s.Name, "add it to redissources_test.go")
		must.True(t, s.Decode == nil || Clients(s.Name) != nil, s.Name, "missing client libraries in Shape.Clients")
	}
}

// Each entry's example is recognised with the entry's confidence and found by the default patterns.
func TestEveryEntryOfTheCatalogue(t *testing.T) {
	for _, l := range catalogue() {
		want := found{l.Name, l.Confidence}
		if l.ConfidenceIfNamed != "" && NamesLock(l.Example.Key) {
			want.sure = l.ConfidenceIfNamed
		}
		must.Equal(t, l.found(l.Example), want, l.Name, l.Example.Key, "=", l.Example.Value, "is read as")
		must.True(t, l.Confidence != "", l.Name, "has no confidence")
		for _, e := range l.Not {
			got := l.found(e)
			must.True(t, got.recipe != l.Name || rank(got.sure) < rank(want.sure), l.Name, e.Key, "=", e.Value, "is read as", got)
		}
		if l.Backend == "redis" && !slices.ContainsFunc(RedisPatterns(), func(p string) bool { return globs(p, l.Example.Key) }) {
			t.Errorf("%s: no default pattern matches %s: add `scan` to the entry", l.Name, l.Example.Key)
		}
	}
}

// globs matches a SCAN pattern, in which a star also matches slashes.
func globs(pattern, key string) bool {
	flat := strings.NewReplacer("/", "|")
	ok, _ := path.Match(flat.Replace(pattern), flat.Replace(key))
	return ok
}

func rank(c Confidence) int { return slices.Index([]Confidence{"", Possible, Likely, Certain}, c) }

// Each function that returns Certain has a row, so that a new recipe is compared with its library.
func TestEveryCertainProofHasARow(t *testing.T) {
	var allowed []string
	for _, w := range sources() {
		allowed = append(allowed, w.ours...)
	}
	files := []string{"../semaphore.go"}
	for _, e := range must.Have(os.ReadDir("."))(t) {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, e.Name())
		}
	}
	said := map[string]bool{}
	for _, file := range files {
		parsed := must.Have(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && saysCertain(f.Body) {
				said[f.Name.Name] = true
				must.True(t, slices.Contains(allowed, f.Name.Name), file, f.Name.Name, "returns Certain without a row in sources")
			}
		}
	}
	for _, w := range sources() {
		for _, name := range w.ours {
			must.True(t, said[name], w.library, name, "does not return Certain")
		}
	}
}

// saysCertain reports whether a function uses Certain other than to compare with it.
func saysCertain(body ast.Node) bool {
	says := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				return false
			}
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, func(v ast.Node) bool {
				says = says || isCertain(v)
				return true
			})
			return false
		case *ast.Ident:
			says = says || isCertain(n)
		}
		return true
	})
	return says
}

func isCertain(n ast.Node) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == "Certain"
}

func TestRecipesPageIsUpToDate(t *testing.T) {
	const page = "../../docs/recipes.md"
	var b strings.Builder
	b.WriteString(`# How locks are attributed to libraries

lockscope says which library wrote a lock, and how sure it is (` + "`recipe`, `recipe_confidence`" + `):

- *certain*: nothing else writes this, according to the library's source;
- *likely*: few other programs write it;
- *possible*: a guess. It raises no alarm, and no action is advised.

Each format is listed under the highest certainty that it can reach. ` +
		"`inspect/recipe/catalogue.yaml` and the tests\nof `inspect/recipe/`" +
		` cite the source files behind it, and list its look-alikes.
`)
	for _, sure := range []Confidence{Certain, Likely, Possible} {
		b.WriteString("\n## " + strings.ToUpper(string(sure[:1])) + string(sure[1:]) + "\n\n")
		for _, w := range sources() {
			if w.sure == sure {
				b.WriteString(w.item())
			}
		}
	}
	got := must.Have(os.ReadFile(page))(t)
	want := b.String()
	if _, byHand, ok := strings.Cut(string(got), "\n## Recipes of your own"); ok {
		want += "\n## Recipes of your own" + byHand
	}
	if *update {
		must.Succeed(t, os.WriteFile(page, []byte(want), 0o644))
		got = []byte(want)
	}
	must.NoDiff(t, cmp.Diff(want, string(got)), "docs/recipes.md: go test ./inspect/recipe -run RecipesPage -update")
}

// item is the row's line on the page. It names look-alikes, and variants that are less certain, only if they lower the
// confidence.
func (w written) item() string {
	text := fmt.Sprintf("- **%s** (%s): %s.", w.library, w.recipe, w.proof)
	label := " Look-alikes: "
	alike, varies := strings.CutPrefix(w.alike, "none known; ")
	if varies {
		label = " Less certain: "
	}
	lessSure := w.sure != Certain || strings.Contains(alike, "likely") || strings.Contains(alike, "possible")
	if lessSure && alike != "none known" {
		text += label + alike + "."
	}
	return text + "\n"
}
