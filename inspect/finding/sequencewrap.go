package finding

import (
	"fmt"
	"math"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// wrapNear is how many numbers before the end of an int32 we warn, so that there is time to act.
const wrapNear = 1_000_000

// sequenceWrap reports node numbers that are about to wrap from 2147483647 to -2147483648, or have.
// Libraries then disagree about the order. Curator and kazoo compare text, where the minus sign
// sorts first. go-zookeeper finds no predecessor for a negative number, and grants the lock.
//
// Cause in the wild: 1000 attempts a second reach it in 25 days; kazoo #730, #606 (elections without end), go-zookeeper
// PR #65, apache/zookeeper PR #2059.
func sequenceWrap() rule {
	return rule{
		name: "sequence-wrap", severity: inspect.Info,
		means: "A directory's node numbers are about to wrap around, or have done so. Libraries then disagree about the " +
			"order.",
		sure:     "`evidence.left` says how many are left.",
		do:       "Use a new directory, or delete and create this one while its clients are stopped.",
		not:      "Do not delete the directory while a client queues in it.",
		evidence: "sequence (the newest), left (numbers until the wrap; 0 after it)",
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		w := newest(c.Lock)
		if w == nil || w.Sequence >= 0 && w.Sequence <= math.MaxInt32-wrapNear {
			return nil
		}
		left := 0
		message := fmt.Sprintf("the queue's numbers have wrapped (now %d): libraries sort negative ones differently",
			w.Sequence)
		switch {
		case w.Sequence == math.MaxInt32:
			message = "the queue's numbers are used up: the server keeps repeating 2147483647, and several clients may hold at once"
		case w.Sequence >= 0:
			left = int(math.MaxInt32 - w.Sequence)
			message = fmt.Sprintf("only %d numbers are left before the queue's counter wraps to negative", left)
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    message,
			Evidence: evidence{
				"sequence": w.Sequence, "left": left,
				"cause": "the parent's counter is an int32 that counts every attempt",
			},
			Steps: do(by(restart("at a quiet time stop the clients, delete the empty directory"),
				zkCLI(c, "delete", c.Lock.ID.Path)),
				restart("start them again: numbers restart at 0")),
		})
	})
}

// newest returns the contender with the newest number: the last in the queue, or a holder if none
// waits.
func newest(l *inspect.Lock) *inspect.Contender {
	var last *inspect.Contender
	for c := range l.Contenders {
		if c.Sequential {
			last = c
		}
	}
	return last
}
