package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// freeing has an operator's keys from a finding on: that of the footer, and answers to the dialogs.
type freeing struct {
	scenario, rule, lock, key string
	// asked: an answer to the dialog before its preview; empty: it wants none. done: its last words.
	asked, done string
}

// An operator who has nothing but the demo's screen, of 80×24, frees each of its locks that hang and that an
// action frees: f lists what is wrong, the footer has the key for what the selected finding advises, the
// dialog says what to type, and the finding goes.
func TestWhoFollowsTheScreenFreesTheDemosLocks(t *testing.T) {
	t.Parallel()
	for _, f := range []freeing{
		{"deadlock", "deadlock", "/locks/accounts", "x", "", "Released: transfer-"},
		{"stuck", "persistent-contender", "/locks/invoices", "x", "", "Released: nightly-import no longer has it"},
		{"stuck", "stuck-holder", "/locks/payments", "x", "", "Released: payment-"},
		{"split", "no-ttl", "lock:nightly", "X", "1m", "Set:"},
	} {
		t.Run(f.rule, func(t *testing.T) {
			t.Parallel()
			r := inTerminal(t, 80, 24, "demo", f.scenario)
			r.awaitText(f.lock)
			r.keys("f")
			r.awaitText("findings", "selected")
			r.selectFinding(f)
			hint := map[string]string{"x": "x release", "X": "X set TTL"}[f.key]
			r.await("the key for what is advised", func(s string) bool {
				lines := strings.Split(strings.TrimRight(s, "\n "), "\n")
				return strings.Contains(lines[len(lines)-1], hint)
			})
			r.keys(f.key)
			if f.asked != "" {
				r.awaitText("enter goes on to the preview")
				r.keys(strings.Split(f.asked, "")...)
				r.keys(enter)
			}
			r.awaitText("Type the path", "Cancel") // of a deadlock's cheapest hold, which may be on another lock than the row
			asked := regexp.MustCompile(`Type the path (\S+) to confirm`).FindStringSubmatch(r.text())
			if len(asked) == 0 || f.rule != "deadlock" && asked[1] != f.lock {
				t.Fatalf("asked for %q", asked)
			}
			r.keys(strings.Split(asked[1], "")...)
			r.keys("\t", enter)
			r.awaitText(f.done)
			r.keys(enter)
			r.await("the finding gone from the list", func(s string) bool {
				return strings.Contains(s, "▸ findings") && !strings.Contains(s, "▲ "+f.rule) && !strings.Contains(s, "✖ "+f.rule)
			})
		})
	}
}

// selectFinding moves the cursor down to a finding, as its row says.
func (r *terminalRun) selectFinding(f freeing) {
	r.t.Helper()
	on := regexp.MustCompile(`(?m)^▌. .?.?` + f.rule + ` `)
	r.await("a row of "+f.rule, regexp.MustCompile(`(?m)^.[✖▲] .?.?`+f.rule+` `).MatchString)
	for range 8 {
		if on.MatchString(r.text()) {
			return
		}
		before := underCursor(r.text())
		r.keys("j")
		r.await("the cursor moved", func(s string) bool { return underCursor(s) != before })
	}
	r.await("the cursor on "+f.rule, on.MatchString)
}

// underCursor is the number of the line that the cursor is in, with its rule and lock: the rest of the screen
// changes by itself.
func underCursor(text string) string {
	for i, line := range strings.Split(text, "\n") {
		if words := strings.Fields(line); strings.HasPrefix(line, "▌") {
			return fmt.Sprint(i, words[:min(len(words), 4)])
		}
	}
	return ""
}
