package lab

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops/contend"
	"github.com/lockscope/lockscope/tui/lanes"
)

// attempt is one request for the lock by a contender of a run.
type attempt struct {
	contender              int
	queued, granted, ended time.Time
	overtook               bool // its grant overtook another one
	left                   bool // it left without a grant
}

// attemptsKept limits the remembered attempts.
const attemptsKept = 4096

// recordAttempts records the events of a run. If the end of an attempt is missing, it ends where
// the contender's next attempt begins.
func recordAttempts(attempts []attempt, events []contend.Event) []attempt {
	for _, e := range events {
		at := len(attempts) - 1
		for ; at >= 0; at-- {
			if v := &attempts[at]; v.contender == e.Contender && v.ended.IsZero() {
				break
			}
		}
		if e.Kind == contend.Queued {
			if at >= 0 {
				attempts[at].ended = e.At
			}
			attempts = append(attempts, attempt{contender: e.Contender, queued: e.At})
			continue
		}
		if at < 0 {
			continue
		}
		switch v := &attempts[at]; e.Kind {
		case contend.Granted:
			v.granted, v.overtook = e.At, e.Overtook
		case contend.Left: // it waited to the end of the run
		default:
			v.ended, v.left = e.At, v.granted.IsZero()
		}
	}
	if over := len(attempts) - attemptsKept; over > 0 {
		attempts = slices.Delete(attempts, 0, over)
	}
	return attempts
}

// forgetAttempts drops the attempts that ended before a given time.
func forgetAttempts(attempts []attempt, before time.Time) []attempt {
	return slices.DeleteFunc(attempts, func(v attempt) bool { return !v.ended.IsZero() && v.ended.Before(before) })
}

// lanesOfAttempts makes the lanes of attempts, in the same order. An overtaking is marked only if
// the run reports one, since it knows the servers' order.
func lanesOfAttempts(attempts []attempt) []lanes.Lane {
	list := make([]lanes.Lane, len(attempts))
	for i, v := range attempts {
		c := &inspect.Contender{State: inspect.Waiting}
		if !v.granted.IsZero() {
			c.State = inspect.Holding
		}
		list[i] = lanes.Lane{
			Contender: c, Queued: v.queued, Granted: v.granted, Ended: v.ended, Present: v.ended.IsZero(), Left: v.left,
		}
	}
	for _, g := range attempts {
		if !g.overtook {
			continue
		}
		for i, v := range attempts {
			waiting := v.queued.Before(g.granted) && (v.granted.IsZero() || v.granted.After(g.granted)) &&
				(v.ended.IsZero() || v.ended.After(g.granted))
			if v.contender != g.contender && v.queued.Before(g.queued) && waiting {
				list[i].Overtaken = append(list[i].Overtaken, g.granted)
			}
		}
	}
	return list
}

// drawAttempts makes a row of cells for each of n contenders.
func drawAttempts(attempts []attempt, n int, w lanes.Window, began, now time.Time) [][]lanes.Cell {
	rows := make([][]lanes.Cell, n)
	list := lanesOfAttempts(attempts)
	for i := range rows {
		rows[i] = make([]lanes.Cell, w.Cells)
	}
	for i := range list {
		at := attempts[i].contender
		if at >= n || !w.Shows(&list[i]) {
			continue
		}
		for j, c := range w.Draw(&list[i], began, now) {
			rows[at][j] = max(rows[at][j], c)
		}
	}
	return rows
}
