package tui

import (
	"fmt"
	"time"

	"lockscope/inspect"
)

// manyLocks are more than are arranged at once.
func manyLocks(n int) []*inspect.Lock {
	list := make([]*inspect.Lock, n)
	for i := range list {
		id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/app-%03d/lock-%06d", i%100, i)}
		list[i] = someLock(id, i)
	}
	return list
}

func someLock(id inspect.ID, i int) *inspect.Lock {
	l := inspect.FreeDirectory(id, nil, noon)
	if i%3 > 0 {
		c := znode(int32(i), "w", time.Duration(i*31%50)*time.Second, nil, 0)
		l.Holders, l.State = []inspect.Contender{c}, inspect.StateHeld
		if i%3 == 2 {
			l.Waiters, l.State = []inspect.Contender{znode(int32(i+1), "v", time.Duration(i*17%40)*time.Second, &c, 0)}, inspect.StateContended
		}
	}
	if i%5 == 0 {
		l.Findings = []inspect.Finding{{Rule: "herd", Severity: inspect.Warning}}
	}
	return l
}
