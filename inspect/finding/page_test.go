package finding

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
)

var update = flag.Bool("update", false, "write docs/findings.md")

// page is docs/findings.md.
func page() string {
	var b strings.Builder
	b.WriteString(`# Findings

All that lockscope diagnoses, as ` + "`doctor`" + `, the screen and the JSON name it. This page is made from the rules
(` + "`inspect/finding`" + `, where each has its causes in the wild); names and evidence are part of the contract.

What holds for all of them:

- On what is only *possibly* a lock nothing is worse than info, and nothing is advised but to find out; the rules marked ¹ are
  silent there.
- Where something was not seen that a rule *rests on*, its findings are only possible, and no action is advised.
- What one look may see halfway, marked ², is reported by who watches and by ` + "`doctor`" + ` when a second look, a second later, finds
  the same.
- What is marked ³ needs to have been watched for a while: one-shot commands do not look for it.
- Every finding has ` + "`evidence.cause`" + `, the likely cause, where one is known. Where the evidence has ` + "`contender`" + ` it has also its
  ` + "`owner`" + `, and where known ` + "`session`, `client`, `since`, `held_since` and `value_digest`" + `.
`)
	for _, severity := range []inspect.Severity{inspect.Critical, inspect.Warning, inspect.Info} {
		title := string(severity)
		fmt.Fprintf(&b, "\n## %s\n\n| finding | means | rests on | evidence | what to do |\n|---|---|---|---|---|\n", strings.ToUpper(title[:1])+title[1:])
		for _, r := range all {
			if r.severity != severity {
				continue
			}
			name := "`" + r.name + "`"
			for i, has := range []bool{r.quiet, r.asOf != nil, r.needsHistory} {
				if has {
					name += string([]rune("¹²³")[i])
				}
			}
			var rests []string
			for _, a := range r.restsOn {
				rests = append(rests, string(a))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, r.means, strings.Join(rests, ", "), r.evidence, r.do)
		}
	}
	return b.String()
}

func TestThePageIsMadeFromTheRules(t *testing.T) {
	t.Parallel()
	const name = "../../docs/findings.md"
	if *update {
		if err := os.WriteFile(name, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), page()); diff != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, diff)
	}
}

// Every rule has a meaning for the page, and a name that no other has.
func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, r := range all {
		if r.name == "" || names[r.name] || r.severity.Rank() == 0 && r.severity != inspect.Info || r.means == "" || r.evidence == "" || r.do == "" {
			t.Errorf("incomplete, or twice: %+v", r)
		}
		names[r.name] = true
		if r.lock == nil && r.backend == nil {
			t.Errorf("%s speaks of nothing", r.name)
		}
	}
}

// asked is a rule that check asks about scripted states, some of which are near misses, or one of backends
// that a test asks itself.
var asked = regexp.MustCompile(`check\(t, "([a-z-]+)"|(\w+)\(\)\.rule\(\)\.Backend\(`)

// Every rule is asked about states in which it fires and about others in which it must not.
func TestEveryRuleHasItsStates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllSubmatch(text, -1) {
			have[strings.ReplaceAll(strings.ToLower(string(m[1])+string(m[2])), "-", "")] = true
		}
	}
	for _, r := range all {
		if !have[strings.ReplaceAll(r.name, "-", "")] {
			t.Errorf("no test asks %s about states with check: those in which it fires, and the near misses", r.name)
		}
	}
}

// word is a key as the evidence is documented.
var word = regexp.MustCompile(`[a-z][a-z0-9_]+`)

// Findings have the evidence and the severity that the page promises.
func TestEvidenceIsAsDocumented(t *testing.T) {
	t.Parallel()
	found := findingsIn(everything("x"))
	for _, r := range all {
		keys := append(word.FindAllString(r.evidence, -1), "cause")
		if slices.Contains(keys, "contender") {
			keys = append(keys, "owner", "session", "client", "since", "held_since", "value_digest")
		}
		for _, f := range found {
			if f.Rule != r.name {
				continue
			}
			for key := range f.Evidence {
				if !slices.Contains(keys, key) {
					t.Errorf("%s has the evidence %q, which is documented nowhere", r.name, key)
				}
			}
			if f.Severity != r.severity && f.Severity != r.sometimes {
				t.Errorf("%s is %s: %s", r.name, f.Severity, f.Message)
			}
			if _, ok := f.Evidence["cause"]; !ok && f.Rule != "blind" && f.Rule != "stuck-holder" {
				t.Errorf("%s names no cause", f.Rule)
			}
		}
	}
}
