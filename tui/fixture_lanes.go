package tui

import (
	"time"

	"lockscope/inspect"
)

func entry(name string, queued, granted time.Duration) inspect.Contender {
	c := inspect.Contender{Name: inspect.Untrusted(name), Since: ago(queued), State: inspect.Waiting}
	if granted > 0 {
		c.HeldSince, c.State = ago(granted), inspect.Holding
	}
	return c
}
