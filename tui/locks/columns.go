package locks

import (
	"math"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// column is a column of the table. Its title, in lower case, is its name in the configuration.
type column struct {
	widget.Column
	// wider lists the minimum widths in wide tables, the narrowest table first.
	wider []step
	cell  func(cell) widget.Line
	// time is a duration that the cell shows in tenths of a second if it is short; nil for none.
	time func(cell) (time.Duration, bool)
	// order names the sorting by the column, which compares keys. With descends, the largest comes
	// first.
	order    string
	descends bool
	key      func(*inspect.Lock) key
}

// step is a minimum width, in cells, for tables of at least that width.
type step struct{ table, width int }

type cell struct {
	screen.Context
	lock *inspect.Lock
	// group is the prefix left out of the path below its group's head.
	group string
	room  int
	// now is the time that ages refer to: the drawn time or, with old, that of the last reading
	// before the backend was lost.
	now time.Time
	old bool
	// matched is the contender because of which the filter shows the lock; nil without one.
	matched *inspect.Contender
}

func cellOf(host screen.Context, l *inspect.Lock) cell {
	v, old := screen.AgesOf(host, l)
	return cell{Context: host, lock: l, now: v.Now, old: old}
}

// ages formats ages as of the cell's time.
func (c cell) ages() describe.View {
	v := screen.Ages(c)
	v.Now = c.now
	return v
}

var (
	byName = &column{
		Column: widget.Column{Title: "LOCK", Middle: true, Width: 14, Grow: 4, Most: 60},
		wider:  []step{{76, 19}, {96, 20}}, cell: lockCell,
		order: "name", key: func(*inspect.Lock) key { return key{} },
	}
	byKind = &column{
		Column: widget.Column{Title: "KIND", Width: 9, From: 109}, cell: kindCell,
		order: "kind", key: func(l *inspect.Lock) key { return key{text: string(l.Kind)} },
	}
	byLibrary = &column{
		Column: widget.Column{Title: "LIBRARY", Width: 12, Grow: 1, Most: 18, From: 126}, cell: libraryCell,
		order: "library", key: func(l *inspect.Lock) key { return key{Missing: l.Recipe == "", text: l.Recipe} },
	}
	byHolder = &column{
		Column: widget.Column{Title: "HOLDER", Middle: true, Width: 11, Grow: 6, Most: 44}, wider: []step{{76, 14}},
		cell:  holderCell,
		order: "holder", key: func(l *inspect.Lock) key {
			if len(l.Holders) == 0 {
				return key{Missing: true, text: string(l.State)}
			}
			return key{text: strings.ToLower(describe.Owner(&l.Holders[0]))}
		},
	}
	byHeld = &column{
		Column: widget.Column{Title: "HELD", Width: 7, Right: true}, cell: heldCell, time: heldTime,
		order: "held longest", descends: true, key: func(l *inspect.Lock) key {
			held := screen.HeldSince(l)
			return key{
				Missing: held.IsZero(),
				numbers: [3]int64{screen.Instant(held), screen.Instant(describe.OldestWaiter(l))},
			}
		},
	}
	byQueue = &column{
		Column: widget.Column{Title: "QUEUE", Width: 5, From: 52}, wider: []step{{96, queueWidth}, {112, trendWidth}},
		cell:  queueCell,
		order: "longest queue", descends: true, key: func(l *inspect.Lock) key {
			n := l.Waiting()
			return key{
				Missing: n == 0,
				numbers: [3]int64{
					-int64(n), screen.Instant(describe.OldestWaiter(l)), screen.Instant(screen.HeldSince(l)),
				},
			}
		},
	}
	byWait = &column{
		Column: widget.Column{Title: "WAIT", Width: 6, Right: true, From: 44}, cell: waitCell, time: waitTime,
		order: "waited longest", descends: true, key: func(l *inspect.Lock) key {
			oldest := describe.OldestWaiter(l)
			return key{Missing: oldest.IsZero(), numbers: [3]int64{screen.Instant(oldest)}}
		},
	}
	byTTL = &column{
		Column: widget.Column{Title: "TTL", Width: 6, Right: true, From: 88},
		wider:  []step{{102, gaugeTTL}, {112, 6}, {130, gaugeTTL}}, cell: ttlCell, time: ttlTime,
		order: "expires first", key: func(l *inspect.Lock) key {
			at := screen.Expiry(l)
			return key{Missing: at.IsZero(), numbers: [3]int64{screen.Instant(at)}}
		},
	}
	byWorst = &column{
		Column: widget.Column{Title: "FINDING", Width: 12, Grow: 2, Most: 24, From: 66},
		wider:  []step{{80, 19}, {93, 20}}, cell: findingCell,
		order: "worst", descends: true, key: func(l *inspect.Lock) key {
			level := 2 * int64(describe.LevelOf(l))
			if screen.Muted(l) {
				level-- // below unmuted locks
			}
			if describe.LevelOf(l) < describe.LevelWarning {
				return key{numbers: [3]int64{-level}} // by name: busy locks change hands all the time
			}
			return key{numbers: [3]int64{
				-level, period(describe.OldestWaiter(l)), period(screen.HeldSince(l)),
			}}
		},
	}
)

// Columns that are shown only if chosen; fields of filters have the same names.
var (
	byClient = &column{
		Column: widget.Column{Title: "CLIENT", Middle: true, Width: 15, Grow: 2, Most: 30, From: widget.Never},
		cell:   clientCell,
		order:  "client", key: ofHolder(describe.Client),
	}
	bySession = &column{
		Column: widget.Column{Title: "SESSION", Middle: true, Width: 18, From: widget.Never}, cell: sessionCell,
		order: "session", key: ofHolder(sessionOf),
	}
	byBackend = &column{
		Column: widget.Column{Title: "BACKEND", Width: 10, Grow: 1, Most: 20, From: widget.Never}, cell: backendCell,
		order: "backend", key: func(l *inspect.Lock) key { return key{text: l.ID.Backend} },
	}
)

// ofHolder sorts by a text of the first holder's owner.
func ofHolder(text func(*inspect.Owner) string) func(*inspect.Lock) key {
	return func(l *inspect.Lock) key {
		if len(l.Holders) == 0 || text(&l.Holders[0].Owner) == "" {
			return key{Missing: true}
		}
		return key{text: text(&l.Holders[0].Owner)}
	}
}

// period makes a time comparable; unknown times come last. Times that change a little do not move a
// lock.
func period(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixNano() / int64(30*time.Second)
}

// allColumns are all columns, from left to right. A narrow window drops them from the right; the
// last ones are shown only if the user chose them.
var allColumns = []*column{
	byName, byKind, byLibrary, byHolder, byHeld, byWait, byQueue, byTTL, byWorst, byClient, bySession, byBackend,
}

// needs are the largest widths since the table was last arranged; 0 if unknown. domain is shared by
// all hosts; brief is for holders without it.
type needs struct {
	name, holder, brief, client, held, finding int
	domain                                     string
}

// grow widens the columns to fit a lock's cells.
func (n *needs) grow(of cell) {
	of.room = widget.Never
	n.name = max(n.name, lockCell(of).Width())
	who := whoHolds(of, of.lock, longName)
	n.holder = max(n.holder, who.Width())
	n.brief = max(n.brief, who.LeaveOut(n.domain, 0).Width())
	n.client = max(n.client, holderCell(of).Width())
	n.held = max(n.held, heldCell(of).Width())
	n.finding = max(n.finding, findingCell(of).Width())
}
