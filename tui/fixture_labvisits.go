package tui

import (
	"time"

	"lockscope/lockops/contend"
)

func event(kind contend.EventKind, contender int, second float64) contend.Event {
	return contend.Event{Kind: kind, Contender: contender, At: noon.Add(time.Duration(second * float64(time.Second)))}
}
