package look

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/docs"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// Explain returns the explain command.
func Explain(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE|RECIPE|COLUMN|STATE|ERROR]",
		Short: "Explain a finding, a library, a column, a state or an error, and what to do",
		Long: "explain prints what docs/findings.md, docs/recipes.md and docs/words.md say about a word. A word is the\n" +
			"name of a finding, recipe, column, state or error, an exit code, or an error's text as printed.\n" +
			"Without a word, explain lists all.",
		Example: "  lockscope explain\n" +
			"  lockscope explain missing-watch\n" +
			"  lockscope explain redisson\n" +
			"  lockscope explain VALID\n" +
			"  lockscope explain 3\n" +
			"  lockscope explain 'connection refused'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return app.Usagef("explain takes one word (quote an error)")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explainedWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text := allWords()
			if len(args) > 0 {
				if text = explanation(args[0]); text == "" {
					return app.Usagef("explain: %q is not a known finding, recipe, column, "+
						"state or error (lockscope explain lists all)", args[0])
				}
			}
			_, err := fmt.Fprint(a.Stdout, text)
			return err
		},
	}
}

// explainedWords returns all words that can be explained, each once.
func explainedWords() []string {
	names := each.Of(finding.Explanations(), func(e finding.Explanation) string { return e.Rule })
	for _, r := range docs.Recipes() {
		names = append(names, r.Name)
	}
	for _, w := range slices.Concat(docs.Columns(), docs.States(), docs.Errors()) {
		names = append(names, w.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// allWords lists the words by kind.
func allWords() string {
	var b strings.Builder
	for _, e := range finding.Explanations() {
		fmt.Fprintf(&b, "%-9s %s\n", e.Severity, e.Rule)
	}
	seen := make(map[string]bool)
	for _, r := range docs.Recipes() {
		if !seen[r.Name] {
			fmt.Fprintf(&b, "%-9s %s\n", "recipe", r.Name)
		}
		seen[r.Name] = true
	}
	for _, w := range docs.Columns() {
		fmt.Fprintf(&b, "%-9s %s\n", "column", w.Name)
	}
	for _, w := range docs.States() {
		fmt.Fprintf(&b, "%-9s %s\n", "state", w.Name)
	}
	for _, w := range docs.Errors() {
		fmt.Fprintf(&b, "%-9s %s (%s)\n", "error", w.Name, w.Where)
	}
	return b.String()
}

// places lists the values of Where that say where an error occurs, rather than quoting its text.
var places = []string{"exit code", "release", "ask"}

// explanation returns everything known about a name of any kind, or an empty string. It also finds
// an error by its text.
func explanation(name string) string {
	var parts []string
	for _, e := range finding.Explanations() {
		if e.Rule == name {
			parts = append(parts, explained(e))
		}
	}
	if text := explainedRecipe(name); text != "" {
		parts = append(parts, text)
	}
	for _, w := range docs.Columns() {
		// "last 5m" also finds LAST 5M QUEUE
		if strings.EqualFold(w.Name, name) || strings.EqualFold(w.Name, name+" queue") {
			parts = append(parts, paragraphs(w.Name+" (column of "+w.Where+")", "means", w.Means))
		}
	}
	for _, w := range docs.States() {
		if strings.EqualFold(w.Name, name) {
			parts = append(parts, paragraphs(w.Name+" (state, "+w.Where+")", "means", w.Means))
		}
	}
	for _, w := range docs.Errors() {
		// Where quotes the error's text, which also finds the entry.
		printed := !slices.Contains(places, w.Where) &&
			strings.Contains(strings.ToLower(name), strings.ToLower(w.Where))
		if w.Name == name || printed {
			parts = append(parts, paragraphs(w.Name+" ("+w.Where+")", "means", w.Means, "what to do", w.Do))
		}
	}
	return strings.Join(parts, "\n")
}

func explainedRecipe(name string) string {
	var parts []string
	for _, r := range docs.Recipes() {
		if r.Name == name {
			parts = append(parts,
				paragraphs(r.Name+" (confidence: "+r.Certainty+" at best): "+r.Library,
					"based on", r.Writes, "look-alikes", r.Alike, "less certain", r.Less))
		}
	}
	if w, ok := releaseOf(name); ok {
		parts = append(parts, paragraphs("A release ("+w.Where+")", "effect", w.Means))
	}
	return strings.Join(parts, "")
}

// releaseOf returns the row about the release of a recipe's locks. Plain strings without a row of
// their own share one, and so do queues.
func releaseOf(name string) (docs.Word, bool) {
	all := docs.Releases()
	at := slices.IndexFunc(all, func(w docs.Word) bool { return w.Name == name })
	if at < 0 {
		at = slices.IndexFunc(all, func(w docs.Word) bool { return w.Name == sharedRelease(name) })
	}
	if at < 0 {
		return docs.Word{}, false
	}
	return all[at], true
}

// anyString and anyQueue name the rows about the release of a plain string in Redis, and of a queue
// in ZooKeeper.
const anyString, anyQueue = "any other string", "any other queue"

// sharedRelease names the row that a recipe shares with others of its form, or is empty.
func sharedRelease(name string) string {
	if recipe.PlainString(name) {
		return anyString
	}
	if recipe.OneNode(name) {
		return "ephemeral"
	}
	if _, ok := recipe.QueueByName(name); ok {
		return anyQueue
	}
	return ""
}

// explainedWidth is the width of the text, in cells.
const explainedWidth = 96

// paragraphs returns a title and wrapped pairs of a word and its text. Empty texts are left out.
func paragraphs(title string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(ansi.Wordwrap(title, explainedWidth, "") + "\n")
	for i := 0; i < len(pairs); i += 2 {
		if text := pairs[i+1]; text != "" && text != "–" {
			text = ansi.Wordwrap(text, explainedWidth-15, "")
			fmt.Fprintf(&b, "  %-12s %s\n", pairs[i], strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 15)))
		}
	}
	return b.String()
}

// explained describes a rule in wrapped lines.
func explained(e finding.Explanation) string {
	rests := each.Of(e.RestsOn, describe.Aspect)
	pairs := []string{
		"means", e.Means, "check", e.Sure, "what to do", e.Do, "caution", e.Not,
		"evidence", e.Evidence, "based on", strings.Join(rests, "; "),
	}
	if e.Quiet {
		pairs = append(pairs, "", "Not reported for possible locks.")
	}
	if e.Twice {
		pairs = append(pairs, "", "Reported only if two checks a second apart agree.")
	}
	if e.Watched {
		pairs = append(pairs, "",
			"Needs a lock's history: one-shot commands report it only from a recording.")
	}
	return paragraphs(fmt.Sprintf("%s (%s)", e.Rule, e.Severity), pairs...)
}
