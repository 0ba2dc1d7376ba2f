package cli

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
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
		must.Succeed(t, server.Mini.Set(key, value))
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
	if found.code != app.ExitNo || len(rows) < 2 || rows[0]["finding"] != "no-ttl" || !strings.HasPrefix(rows[0]["advice"], "lockscope ttl ") && rows[0]["advice"] == "" {
		t.Errorf("%+v", rows)
	}
	tourRows := cells(t, run(t, "ls", tour, "-o", "csv").stdout)
	if want := strings.Count(run(t, "ls", tour).stdout, "\n") - 1; len(tourRows) != want {
		t.Errorf("%d rows, the table has %d", len(tourRows), want)
	}
}
