package cli

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ls puts the locks with the most first, those of which that is not known last, and says the grants of a recording.
func TestLsSorts(t *testing.T) {
	t.Parallel()
	const tour = "../screenshots/tour.jsonl.gz"
	list := func(order, column string) (ids []string, figures []int) {
		args := []string{"ls", tour, "-o", "csv"}
		if order != "" {
			args = append(args, "--sort", order)
		}
		rows, err := csv.NewReader(strings.NewReader(run(t, args...).stdout)).ReadAll()
		if err != nil || len(rows) < 10 {
			t.Fatalf("%v, %d rows", err, len(rows))
		}
		at := slices.Index(rows[0], column)
		for _, row := range rows[1:] {
			n := -1 // unknown
			if row[at] != "" {
				if n, err = strconv.Atoi(row[at]); err != nil {
					t.Fatal(err)
				}
			}
			ids, figures = append(ids, row[0]), append(figures, n)
		}
		return ids, figures
	}
	byName, _ := list("", "grants")
	for order, column := range map[string]string{"held": "held_ms", "wait": "longest_wait_ms", "grants": "grants"} {
		ids, figures := list(order, column)
		if !slices.IsSortedFunc(figures, func(a, b int) int { return b - a }) || figures[0] <= figures[len(figures)-1] {
			t.Errorf("by %s: %v", order, figures)
		}
		if slices.Equal(ids, byName) {
			t.Errorf("by %s it is the same as by name", order)
		}
		if slices.Sort(ids); len(slices.Compact(ids)) != len(byName) {
			t.Errorf("by %s: %v", order, ids)
		}
	}
	table := strings.Split(run(t, "ls", tour, "--sort", "grants").stdout, "\n")
	most, _ := list("grants", "grants")
	if !strings.Contains(table[0], "GRANTS") || !strings.HasPrefix(table[1], most[0]) {
		t.Errorf("%s", strings.Join(table[:2], "\n"))
	}
	worst, _ := list("finding", "grants")
	if got := run(t, "show", worst[0], tour); !strings.Contains(strings.ToLower(got.stdout), "critical") {
		t.Errorf("%s is not the worst: %s", worst[0], got.stdout)
	}
	if _, waiting := list("queue", "waiters"); waiting[0] < 1 || waiting[0] != slices.Max(waiting) {
		t.Errorf("by queue: %v", waiting)
	}
}
