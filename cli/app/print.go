package app

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/tui/screen"
)

// PrintLocks prints a snapshot as ls does; order is one of render.OrderNames, or empty for names.
func (a *App) PrintLocks(s *inspect.Snapshot, output, order string) error {
	switch output {
	case "json":
		return jsonform.Write(a.Stdout, s)
	case "csv":
		return render.WriteCSV(a.Stdout, render.LocksCSV(s, render.InOrder(s, order)))
	}
	if s.Len() == 0 {
		if !slices.ContainsFunc(s.Backends, Unseen) { // otherwise there may be locks
			a.Say("no locks found in these targets")
			a.SaySought(s)
		}
		return nil
	}
	_, err := fmt.Fprint(a.Stdout, render.LockTable(s, output == "wide", order, a.Width()))
	return err
}

// SaySought reports what we looked for, and which other databases hold keys, if a snapshot has no locks.
func (a *App) SaySought(s *inspect.Snapshot) {
	for _, b := range s.Backends {
		if text := describe.Sought(b); text != "" {
			a.Say("%s: %s", b.Name, text)
		}
	}
}

// PrintJSON writes v as indented JSON.
func (a *App) PrintJSON(v any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}

// Filtered returns a snapshot with only the locks that match.
func Filtered(s *inspect.Snapshot, filter screen.Filter) *inspect.Snapshot {
	if filter.Empty() {
		return s
	}
	return s.Where(func(l *inspect.Lock) bool {
		return filter.Match(screen.FilterSubject{Lock: l, Snapshot: s, Now: s.TakenAt})
	})
}
