package tui

import (
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/lockops/contend"
)

// visit is one time that a contender of a run asked for the lock.
type visit struct {
	contender              int
	queued, granted, ended time.Time
	overtook               bool // its grant overtook somebody
	left                   bool // it left without a grant
}

// visitsKept bounds how many are remembered.
const visitsKept = 4096

// noteVisits takes in what happened in a run. Events that are missing end a visit where the next of its contender begins.
func noteVisits(visits []visit, events []contend.Event) []visit {
	for _, e := range events {
		at := len(visits) - 1
		for ; at >= 0; at-- {
			if v := &visits[at]; v.contender == e.Contender && v.ended.IsZero() {
				break
			}
		}
		if e.Kind == contend.Queued {
			if at >= 0 {
				visits[at].ended = e.At
			}
			visits = append(visits, visit{contender: e.Contender, queued: e.At})
			continue
		}
		if at < 0 {
			continue
		}
		switch v := &visits[at]; e.Kind {
		case contend.Granted:
			v.granted, v.overtook = e.At, e.Overtook
		default:
			v.ended, v.left = e.At, v.granted.IsZero()
		}
	}
	if over := len(visits) - visitsKept; over > 0 {
		visits = slices.Delete(visits, 0, over)
	}
	return visits
}

// forgetVisits drops those that ended before some time.
func forgetVisits(visits []visit, before time.Time) []visit {
	return slices.DeleteFunc(visits, func(v visit) bool { return !v.ended.IsZero() && v.ended.Before(before) })
}

// lanesOfVisits are the lanes of visits, in the order of visits. An overtaking is marked only where the run, which knows
// the servers' own order, says that there was one.
func lanesOfVisits(visits []visit) []lane {
	list := make([]lane, len(visits))
	for i, v := range visits {
		c := &inspect.Contender{State: inspect.Waiting}
		if !v.granted.IsZero() {
			c.State = inspect.Holding
		}
		list[i] = lane{contender: c, queued: v.queued, granted: v.granted, ended: v.ended, present: v.ended.IsZero(), left: v.left}
	}
	for _, g := range visits {
		if !g.overtook {
			continue
		}
		for i, v := range visits {
			waits := v.queued.Before(g.granted) && (v.granted.IsZero() || v.granted.After(g.granted)) && (v.ended.IsZero() || v.ended.After(g.granted))
			if v.contender != g.contender && v.queued.Before(g.queued) && waits {
				list[i].overtaken = append(list[i].overtaken, g.granted)
			}
		}
	}
	return list
}

// drawVisits makes a row of cells for each of n contenders.
func drawVisits(visits []visit, n int, w window, began, now time.Time) [][]cell {
	rows := make([][]cell, n)
	list := lanesOfVisits(visits)
	for i := range rows {
		rows[i] = make([]cell, w.cells)
	}
	for i := range list {
		at := visits[i].contender
		if at >= n || !w.shows(&list[i]) {
			continue
		}
		for j, c := range w.draw(&list[i], began, now) {
			rows[at][j] = max(rows[at][j], c)
		}
	}
	return rows
}
