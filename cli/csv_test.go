package cli

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// cells are the rows of a CSV as maps by its heads.
func cells(t *testing.T, text string) (rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll() // each row has as many cells as the first
	if err != nil || len(all) == 0 {
		t.Fatalf("%v in %q", err, text)
	}
	for _, r := range all[1:] {
		row := make(map[string]string)
		for i, head := range all[0] {
			row[head] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCSV(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const value = "Y2NjY2NjY2NjY2NjY2NjYw=="
	for _, key := range []string{"lock:a,\"b\"", "lock:plain"} {
		if err := server.Mini.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	target := "redis://" + server.Addr + "?match=lock:*"
	list := run(t, "ls", target, "-o", "csv")
	rows := cells(t, list.stdout)
	if list.code != 0 || len(rows) != 2 || rows[0]["id"] != `redis:lock:a,"b"` || rows[0]["holder"] != value || rows[0]["ttl_ms"] != "-1" ||
		rows[0]["waiters"] != "0" || rows[0]["finding"] != "no-ttl" || rows[0]["severity"] != "warning" || rows[0]["held_ms"] != "" {
		t.Errorf("%+v", rows)
	}
	found := run(t, "doctor", target, "-o", "csv")
	rows = cells(t, found.stdout)
	if found.code != exitNo || len(rows) < 2 || rows[0]["finding"] != "no-ttl" || !strings.HasPrefix(rows[0]["advice"], "lockscope ttl ") && rows[0]["advice"] == "" {
		t.Errorf("%+v", rows)
	}
	tourRows := cells(t, run(t, "ls", tour, "-o", "csv").stdout)
	if want := strings.Count(run(t, "ls", tour).stdout, "\n") - 1; len(tourRows) != want {
		t.Errorf("%d rows, the table has %d", len(tourRows), want)
	}
	for text, want := range map[string]string{"=1+1": "'=1+1", "-2": "'-2", "@x": "'@x", "+x": "'+x", "a=b": "a=b", "": ""} {
		if got := csvText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Ages by a clock that nobody has compared with ours are marked, and a list by age takes them for the least
// that they can be.
func TestAgesByAnUnknownClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	lock := func(backend string, age time.Duration) *inspect.Lock {
		return &inspect.Lock{
			ID: inspect.ID{Backend: backend, Path: "/l"}, State: inspect.StateContended,
			Holders: []inspect.Contender{{Name: "h", Since: now.Add(-age), Czxid: 2}},
			Waiters: []inspect.Contender{{Name: "w", Since: now.Add(-age), Czxid: 3}},
		}
	}
	s := inspect.NewSnapshot(now, []*inspect.Backend{
		{Name: "guessed", Kind: inspect.ZooKeeper, Clock: inspect.LeaderClock{From: 1, Newest: now.Add(-59 * time.Minute)}},
		{Name: "known", Kind: inspect.ZooKeeper, Clock: inspect.LeaderClock{From: 1, Known: true}},
	}, []*inspect.Lock{lock("guessed", time.Hour), lock("known", 2*time.Minute)})
	for _, order := range []string{"held", "wait"} {
		rows := locksCSV(s, inOrder(s, order))
		last := len(rows[0]) - 1
		if rows[0][last] != "ages_known" || rows[1][0] != "known:/l" || rows[1][last] != "true" || rows[2][last] != "false" || rows[2][10] != "3600000" {
			t.Errorf("by %s: %q", order, rows)
		}
	}
	guessed := s.Lock(inspect.ID{Backend: "guessed", Path: "/l"})
	if held, wait := holderAge(s, guessed), longestWait(s, guessed); held != "~1h00m" || wait != "~1h00m" {
		t.Errorf("held %s, wait %s", held, wait)
	}
}
