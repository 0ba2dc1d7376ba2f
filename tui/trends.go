package tui

import (
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
)

// trend caches the samples of a lock's past, in steps that begin at multiples of their length.
// All but the last, unfinished sample are final.
type trend struct {
	inspect.Trend
	from time.Time
}

// trendsKept limits the trends in memory; no screen has more locks.
const trendsKept = 300

// Trend adds the steps since its last call.
func (w *world) Trend(id inspect.ID) inspect.Trend {
	const n = screen.TrendCells
	from := w.now.Truncate(screen.TrendStep).Add(-(n - 1) * screen.TrendStep)
	before, known := w.trends[id]
	kept := n - 1 - int(from.Sub(before.from)/screen.TrendStep)
	if !known || from.Before(before.from) || kept < 0 {
		kept = 0
	}
	at := inspect.Trend{Waiting: make([]float64, 0, n), Holding: make([]float64, 0, n)}
	if kept > 0 {
		at.Waiting = append(at.Waiting, before.Waiting[n-1-kept:n-1]...)
		at.Holding = append(at.Holding, before.Holding[n-1-kept:n-1]...)
	}
	fresh := w.past.Trend(id, from.Add(time.Duration(kept)*screen.TrendStep), screen.TrendStep, n-kept, w.now)
	at.Waiting, at.Holding = append(at.Waiting, fresh.Waiting...), append(at.Holding, fresh.Holding...)
	if len(w.trends) >= trendsKept {
		clear(w.trends)
	}
	w.trends[id] = trend{at, from}
	return at
}

// BackendTrend implements screen.Context.
func (w *world) BackendTrend(name string, of func(*inspect.Backend) float64) []float64 {
	from := w.now.Truncate(screen.TrendStep).Add(-(screen.TrendCells - 1) * screen.TrendStep)
	return w.past.BackendTrend(name, from, screen.TrendStep, screen.TrendCells, w.now, of)
}
