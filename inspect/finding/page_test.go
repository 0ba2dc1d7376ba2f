package finding

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// page is docs/findings.md.
func page() string {
	var b strings.Builder
	b.WriteString(`# Findings

What lockscope diagnoses, with the names and evidence of the JSON. ` + "`lockscope explain NAME`" + ` prints the same.

- ¹ Not reported for [possible](operating.md#what-counts-as-a-lock) locks. Other findings about those are info, and
  only advise investigating.
- ² Reported only if a second read, a second later, finds the same.
- ³ Needs a lock's history: one-shot commands report it only from a recording.
- If a read that a rule needs failed, its findings are only possible, and advise no action.
- Evidence also has the likely ` + "`cause`" + `, and next to ` + "`contender`" + `, where known, its ` + "`owner`, `session`, `client`" + `,
  ` + "`since`, `held_since` and `value_digest`" + `.
`)
	for _, severity := range []inspect.Severity{inspect.Critical, inspect.Warning, inspect.Info} {
		title := string(severity)
		fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(title[:1])+title[1:])
		for _, r := range all {
			if r.severity == severity {
				b.WriteString(entry(&r))
			}
		}
	}
	return b.String()
}

// entry returns one rule's section of the page.
func entry(r *rule) string {
	name := r.name
	for i, has := range []bool{r.quiet, r.asOf != nil, r.needsHistory} {
		if has {
			name += string([]rune(" ¹ ² ³")[2*i : 2*i+2])
		}
	}
	return fmt.Sprintf("\n### %s\n\n%s\n\n- Check: %s\n- Do: %s\n- Do not %s\n- Evidence: %s.\n", name, r.means, r.sure, r.do, strings.TrimPrefix(r.not, "Do not "), r.evidence)
}

func TestFindingsPageMatchesRules(t *testing.T) {
	t.Parallel()
	matches(t, "../../docs/findings.md", page())
}

// Every rule has a complete entry and a unique name. If it is about locks, it names the aspects that it depends on,
// except for a few that no unseen aspect can make wrong.
func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for i, r := range all {
		e := Explanations()[i]
		texts := []string{r.name, r.means, r.sure, r.do, r.not, r.evidence}
		must.Same(t, []string{e.Rule, e.Means, e.Sure, e.Do, e.Not, e.Evidence}, texts)
		must.Same(t, []bool{e.Quiet, e.Twice, e.Watched}, []bool{r.quiet, r.asOf != nil, r.needsHistory}, r.name)
		must.Equal(t, Passing(r.name), r.asOf != nil, r.name, "is passing")
		must.True(t, !names[r.name], r.name, "is not unique")
		names[r.name] = true
		must.True(t, !slices.Contains(texts, ""), "incomplete:", r)
		must.True(t, r.severity.Rank() > 0 || r.severity == inspect.Info, r.name, "is", r.severity)
		must.True(t, r.lock != nil || r.backend != nil, r.name, "has neither a lock nor a backend function")
		independent := slices.Contains([]string{"blind", "foreign-value", "sequence-wrap"}, r.name)
		must.True(t, r.lock == nil || r.restsOn != nil || independent, r.name, "has no restsOn")
	}
}

// asked matches each test, and each rule that it checks.
var asked = regexp.MustCompile(`func (Test\w+)|check\(t, "([a-z-]+)"`)

// Every rule is tested with states in which it fires and with near misses. No page of states is left over.
func TestEveryRuleHasItsStates(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, file := range must.Have(filepath.Glob("*_test.go"))(t) {
		for _, m := range asked.FindAllStringSubmatch(string(must.Have(os.ReadFile(file))(t)), -1) {
			have[m[1]+m[2]] = true
		}
	}
	for _, r := range all {
		must.True(t, have[r.name], "no test checks", r.name, "on states in which it fires and on near misses")
	}
	for _, page := range must.Have(filepath.Glob("testdata/states/*.txt"))(t) {
		must.True(t, have[strings.TrimSuffix(filepath.Base(page), ".txt")], page, "has no test")
	}
}

// word finds a key of the documented evidence.
var word = regexp.MustCompile(`[a-z][a-z0-9_]+`)

// Findings have the documented evidence and severity.
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
				must.True(t, slices.Contains(keys, key), r.name, "has the undocumented evidence", key)
			}
			must.True(t, f.Severity == r.severity || f.Severity == r.sometimes, r.name, "is", f.Severity, f.Message)
			uncaused := f.Rule == "blind" || f.Rule == "stuck-holder"
			must.True(t, f.Evidence["cause"] != nil || uncaused, f.Rule, "names no cause")
		}
	}
}
