package screen

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// MostMarked bounds the locks of one action: no user reads more previews.
const MostMarked = 100

// TooMany refuses a mark beyond MostMarked.
func TooMany() string {
	return fmt.Sprintf("at most %d at once: filter them with / (lockscope release --match takes more)", MostMarked)
}

// Pointing is a screen whose cursor may be on a contender of a lock; nil: on none.
type Pointing interface {
	Contender() (*inspect.Lock, *inspect.Contender)
}

// Dated is a screen whose cursor may be on something that happened; zero: on nothing, or unknown when.
type Dated interface{ Moment() time.Time }

// FoundOn is a finding and its lock. For a backend's finding, On only has the backend's name.
type FoundOn struct {
	On      inspect.ID
	Finding *inspect.Finding
}

// Diagnosing is a screen of findings. Findings are those under the cursor: one, or all of a group that the
// filter shows. Finding is the one under the cursor; false for a group.
type Diagnosing interface {
	Findings() []FoundOn
	Finding() (FoundOn, bool)
}

// Marking is a screen where several locks can be chosen for an action. Marked are these locks;
// without any, the one under the cursor counts.
type Marking interface{ Marked() []inspect.ID }
