package app

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

func TestProgressLineFitsAndClears(t *testing.T) {
	var out strings.Builder
	l := progressLine{to: &out, width: 20}
	l.Show(strings.Repeat("x", 50))
	l.Show("short")
	l.Clear()
	text := out.String()
	must.True(t, !strings.ContainsAny(text, "\n\x1b"), text)
	parts := strings.Split(text, "\r")
	if parts[1] != strings.Repeat("x", 18)+"…" || strings.TrimRight(parts[2], " ") != "short" || len(parts[2]) != 19 || strings.TrimSpace(parts[3]) != "" {
		t.Errorf("%q", parts)
	}
}

func TestProgressIsPerBackend(t *testing.T) {
	s := &inspect.Snapshot{Backends: []*inspect.Backend{
		{Name: "zk", Kind: inspect.ZooKeeper, Scanned: 1200},
		{Name: "keys", Kind: inspect.Redis, Scanned: 7},
		{Name: "redis", Kind: inspect.Redis, FirstPass: true},
		{Name: "zk2", State: inspect.Down},
	}}
	must.Equal(t, progress(s), "0 locks so far (zk 1200 directories, keys 7 keys, redis done, zk2 down)")
}
