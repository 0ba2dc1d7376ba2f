package lab

import (
	"errors"
	"strings"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops"
)

func isLoss(err error) bool { return errors.Is(err, lockops.ErrLost) }

// isOthers reports that another client has the lock, so that nothing of ours is left.
func isOthers(err error) bool { return errors.Is(err, lockops.ErrUnknownRelease) }

// lossWords describe the cause of a loss, safe to print.
func lossWords(cause error) string {
	if cause == nil {
		return "reason unknown"
	}
	text := cause.Error()
	if _, after, ok := strings.Cut(text, lockops.ErrLost.Error()+": "); ok {
		text = after
	}
	return describe.Printable(text)
}
