package render

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestTableFitsItsWidth(t *testing.T) {
	var tab table
	for _, c := range lockColumns(describe.View{}, true) {
		tab.columns = append(tab.columns, c.column)
	}
	tab.rows = [][]string{
		{"zk:/locks/" + strings.Repeat("a", 60), "contended", "mutex", "curator", strings.Repeat("錠", 20), "14m02s", "3", "–", "5/5", "9.1s", "0x10000000001", "2.1s", "certain", "critical: deadlock"},
		{"redis:lock:b", "held", "redlock", "redsync", "me", "1.0s", "0", "9.0s", "5/5", "9.1s", "–", "–", "likely", "–"},
	}
	whole := tab.render(0)
	for _, text := range append(append([]string{}, tab.rows[0]...), "SURE", "FINDING") {
		must.Contain(t, whole, text, "without a terminal")
	}
	for width := 60; width < 260; width++ {
		for line := range strings.Lines(tab.render(width)) {
			if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
				t.Fatalf("a line of %d cells on a terminal of %d: %s", got, width, line)
			}
		}
	}
	// The least useful columns are left out first.
	last := -1
	for width := 260; width >= 60; width-- {
		heads, _, _ := strings.Cut(tab.render(width), "\n")
		n := len(strings.Fields(heads))
		if last >= 0 && n > last {
			t.Errorf("%d cells show more columns (%s) than one cell more", width, heads)
		}
		last = n
	}
	narrow, _, _ := strings.Cut(tab.render(72), "\n")
	if !strings.Contains(narrow, "HOLDER") || !strings.Contains(narrow, "QUEUE") || strings.Contains(narrow, "SURE") {
		t.Errorf("wrong columns on a narrow terminal: %s", narrow)
	}
}

func TestHugeCellIsCutWithoutTerminal(t *testing.T) {
	tab := table{columns: []column{{head: "LOCK"}, {head: "STATE"}}}
	tab.rows = [][]string{{strings.Repeat("a", 1<<20), "held"}, {"b", "free"}}
	for line := range strings.Lines(tab.render(0)) {
		if len(line) > 2*mostCell {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}
