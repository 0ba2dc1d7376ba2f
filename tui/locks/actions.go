package locks

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/tui/screen"
)

func (s *Screen) Actions() []screen.Action {
	none := func() string {
		if s.Current == (Selection{}) {
			return "no lock is selected"
		}
		return ""
	}
	noLock := func() string {
		if s.Current.Lock == (inspect.ID{}) {
			return "no lock is selected"
		}
		return ""
	}
	opens, help := "chain", "the chain: who holds it, who waits for whom"
	if _, ok := s.onGroup(); ok {
		opens, help = "open", "open the group, and close it"
	}
	list := []screen.Action{
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: opens, Help: help, Disabled: none,
			Run: screen.Do(s.enter),
		},
	}
	if s.keysInChain() {
		list = append(list, screen.LeaveAction(func() { s.inChain = false }))
	}
	list = append(list, s.input.Actions("filter: show only locks with all of: "+screen.FieldNames)...)
	list = append(list, s.tableActions(none, noLock)...)
	if s.Want.Grouped {
		list = append(list, screen.Action{
			Keys: []string{"h", "left"}, Shown: "h", Hint: "close", Help: "close the group", Disabled: none,
			Run: screen.Do(s.closeGroup),
		})
	}
	list = append(list, screen.Action{
		Keys: []string{"tab"}, Shown: "tab", Help: "next pane: the table, or the lock's chain",
		Disabled: func() string {
			if !s.paned() {
				return fmt.Sprintf("one pane here; a window of %dx%d shows the chain too", stackedWidth, stackedHeight+4)
			}
			return none()
		},
		Run: screen.Do(func() { s.inChain = !s.inChain }),
	})
	return append(list, screen.Moves(s.move, s.rows)...)
}

// tableActions are the keys of the table. Disabled ones have a reason.
func (s *Screen) tableActions(none, noLock func() string) []screen.Action {
	return []screen.Action{
		{
			Keys: []string{"s"}, Shown: "s", Hint: "sort", Late: true, Help: "sort by the next column",
			Run: screen.Do(s.nextSorting),
		},
		{
			Keys: []string{"p"}, Shown: "p",
			Help: "toggle grouping by directory or key prefix", Run: screen.Do(s.group),
		},
		{
			Keys: []string{"y"}, Shown: "y", Hint: "copy", Late: true, Help: "copy path, session, command... (OSC 52)",
			Disabled: noLock, Run: s.copy,
		},
		screen.TicketAction(s, func() (ticket.Ticket, bool) { return screen.LockTicket(s, s.Current.Lock, nil) }),
		{
			Keys: []string{"v"}, Shown: "v", Help: "mark, or unmark, the lock: for x, X, A and m", Disabled: noLock,
			Run: screen.Do(s.mark),
		},
		{
			Keys: []string{"V"}, Shown: "V", Help: "mark all that is shown, or unmark all", Disabled: none,
			Run: screen.Do(s.markAll),
		},
		{
			Keys: []string{"W"}, Shown: "W", Help: "toggle full names: only locks, holders and ages",
			Run: screen.Do(s.toggleNames),
		},
		{Keys: []string{"C"}, Shown: "C", Help: "choose the columns", Run: screen.Do(s.chooseColumns)},
		{
			Keys: []string{"S"}, Shown: "S", Help: "reverse the order", Disabled: none,
			Run: screen.Do(func() { s.sortBy(s.Want.Order.column()) }),
		},
	}
}

func (s *Screen) copy() tea.Cmd { return screen.CopyMenu(s, s.Snapshot().Lock(s.Current.Lock), nil) }
