package screen

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// MostMarked limits the locks of one action, since no user reads more previews.
const MostMarked = 100

// TooMany is the message that refuses a mark beyond MostMarked.
func TooMany() string {
	return fmt.Sprintf("at most %d at once: filter them with / (lockscope release --match takes more)", MostMarked)
}

// Pointing is a screen whose cursor may be on a lock's contender; nil if it is not.
type Pointing interface {
	Contender() (*inspect.Lock, *inspect.Contender)
}

// Dated is a screen whose cursor may be on an event; zero if it is not, or if its time is
// unknown.
type Dated interface{ Moment() time.Time }

// FoundOn is a finding and its lock. For a backend's finding, On only has the backend's name.
type FoundOn struct {
	On      inspect.ID
	Finding *inspect.Finding
}

// Diagnosing is a screen of findings. Findings are those under the cursor: one, or all of a group
// that the filter shows. Finding is the single one under the cursor; false for a group.
type Diagnosing interface {
	Findings() []FoundOn
	Finding() (FoundOn, bool)
}

// Marking is a screen where the user can mark several locks for an action. If none is marked, the
// action is on the one under the cursor.
type Marking interface{ Marked() []inspect.ID }
