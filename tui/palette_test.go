package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestMatchText(t *testing.T) {
	for _, test := range []struct {
		text, typed string
		want        int
	}{
		{"locks", "locks", sameText},
		{"locks", "lo", startsText},
		{"zk:/locks/orders", "ord", startsPart},
		{"zk:/locks/orders", "orders", startsText},
		{"redis:lock:legacy-orders", "orders", startsPart},
		{"zk:/locks/orders", "rde", inText},
		{"zk:/locks/orders", "lkor", scattered},
		{"zk:/locks/orders", "orl", noMatch},
		{"x", "", startsText},
		{"", "", sameText},
		{"", "x", noMatch},
	} {
		must.Equal(t, matchText(test.text, test.typed), test.want, test.typed, test.text)
	}
}

func TestPaletteRunsChosenEntry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typed string
		keys        []string
		want        []string
	}{
		{"to a screen", "events", []string{"enter"}, []string{"▸ events"}},
		{"to a screen by its start", "ti", []string{"enter"}, []string{"▸ timeline"}},
		{"to a lock", "orders", []string{"enter"}, []string{"▸ chain", "zk:/locks/orders"}},
		{"to a lock by its id", "zk:/locks/b", []string{"enter"}, []string{"▸ chain", "zk:/locks/billing"}},
		{"to a lock by its letters", "crt42", []string{"enter"}, []string{"▸ chain", "redis:lock:cart:42"}},
		{"to another match", "zk:/locks", []string{"down", "down", "down", "enter"}, []string{"▸ chain", "zk:/locks/orders"}},
		{"completed", "bill", []string{"tab"}, []string{":zk:/locks/billing"}},
		{"an action", "sort", []string{"enter"}, []string{"LOCK ↑"}},
		{"an action that opens a dialog", "copy", []string{"enter"}, []string{"Copy from"}},
		{"a screen by its description", "our load", []string{"enter"}, []string{"▸ backends"}},
		{"nothing", "qqqq", []string{"enter"}, []string{"no match"}},
		{"closed", "orders", []string{"esc"}, []string{"sort: worst"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, Options{}, 80, 24, fixture.Everything(), ":", test.typed)
			fits(t, m)
			press(m, test.keys...)
			wantText(t, m, test.want...)
		})
	}
}

// A lock's name is cut only where the words next to it need the room.
func TestPaletteShowsLongNames(t *testing.T) {
	l := fixture.Orders()
	l.ID.Path = "/locks/reports/daily-aggregation-of-customer-ledgers"
	m := model(t, Options{}, 120, 36, snapshotOf(l))
	keysShow(t, m, ": ledgers", "▸ zk:/locks/reports/daily-aggregation-of-customer-ledgers  ")
}

func TestPaletteExplainsDisabledActions(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	keysShow(t, m, ": force", "force-release", "read-only: start with --write")
	press(m, "enter")
	must.True(t, m.HasDialog(), "the palette is closed")
	must.Equal(t, m.flashText, "read-only: start with --write", "flash")
	press(m, "backspace", "backspace", "backspace", "backspace", "backspace", "backspace")
	must.True(t, !m.HasDialog(), "a backspace in the empty field did not close the palette")
}

// With very many locks the palette searches in a command. A late answer is dropped, and so is one
// for a palette that was closed.
func TestPaletteSearchesManyLocks(t *testing.T) {
	m := model(t, Options{}, 120, 40, snapshotOf(fixture.ManyLocks(screen.AtOnce+1)...))
	stale := press(m, ":", "7")
	wantText(t, m, "searching the locks")
	press(m, "esc")
	receives(t, m, press(m, ":", "lock-000")(), "1001 locks match; keep typing")
	early := press(m, "00")
	late := press(m, "1")
	wantText(t, m, "searching")
	receives(t, m, stale(), "searching")
	receives(t, m, early(), "searching")
	receives(t, m, late(), "zk:/app-001/lock-000001")
	wantNoText(t, m, "searching")
	keysShow(t, m, "enter", "▸ chain", "zk:/app-001/lock-000001")
}

func TestLockSearchListsBestMatchesFirst(t *testing.T) {
	s := inspect.NewSnapshot(fixture.Noon, nil, fixture.ManyLocks(3000))
	f := findLocks(t.Context(), s, "LOCK-0029")
	must.True(t, f.all >= 100 && len(f.locks) <= mostFound, len(f.locks), "of", f.all)
	must.Equal(t, f.locks[0].well, startsPart)
	must.Contain(t, f.locks[0].id.Path, "lock-0029")
	must.True(t, slices.IsSortedFunc(f.locks, func(a, b match) int { return a.well - b.well }), "not the best first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Equal(t, findLocks(ctx, s, "lock").all, 0, "a cancelled search went on")
}

func TestHelpScrolls(t *testing.T) {
	m := model(t, Options{}, 80, 24, fixture.Everything())
	keysShow(t, m, "?", "Keys of this screen: locks", "more lines", "up/down scroll")
	wantNoText(t, m, "does not watch")
	keysShow(t, m, "G", "no watch", "unmute findings: turn")
	wantNoText(t, m, "more lines")
	receives(t, m, tea.MouseWheelMsg{Button: tea.MouseWheelUp}, "more lines")
	keysShow(t, m, "g", "Keys of this screen")
	keysHide(t, m, "esc", "Everywhere")
}

func TestWelcome(t *testing.T) {
	for key, chosen := range map[string]Chosen{"enter": {Demo: true}, "q": {}, "esc": {}, "2": {Target: "redis://127.0.0.1:6379"}} {
		w := &welcome{theme: model(t, Options{}, 80, 24, nil).theme, width: 80, height: 24}
		w.Update(localFoundMsg{Targets: []string{"zk://127.0.0.1:2181", "redis://127.0.0.1:6379"}, Tried: []string{"2181", "6379", "6380"}})
		_, cmd := w.Update(keyPress(key))
		must.True(t, cmd != nil, key, "does nothing")
		must.Equal(t, w.chosen, chosen, key)
	}
}

// The page lists the local addresses that were tried, found or not, and fits its window.
func TestWelcomeOffersLocalServers(t *testing.T) {
	for _, size := range sizes {
		for _, targets := range [][]string{nil, {"zk://127.0.0.1:2181"}, {"a", "b", "c", "d", "e", "f", "g"}} {
			w := &welcome{theme: model(t, Options{}, 80, 24, nil).theme, width: size.width, height: size.height}
			must.Equal(t, len(splitLines(w.content())), size.height, "lines at first")
			w.Update(localFoundMsg{Targets: targets, Tried: []string{"2181", "6379"}})
			text := ansi.Strip(w.content())
			must.Equal(t, len(splitLines(text)), size.height, "lines in")
			wantIn(t, text, "2181 6379", "demonstration")
			must.Equal(t, strings.Contains(text, "No server answers"), len(targets) == 0, targets)
			for _, target := range targets[:min(len(targets), offeredLocally)] {
				must.Contain(t, text, "  lockscope "+target)
			}
		}
	}
	w := &welcome{theme: model(t, Options{}, 80, 24, nil).theme, width: 80, height: 24}
	_, cmd := w.Update(keyPress("1"))
	must.True(t, cmd == nil, "a digit chose an entry that is not offered")
}

func TestPaletteRefusesOutdatedActions(t *testing.T) {
	f := newFakeReleaser()
	m := opened(t, Options{Release: f.of}, 120, 36, fixture.Orders().ID)
	keysHide(t, m, ": force-release", "the lock is gone")
	deliver(m, snapshotOf(fixture.FreeLock()))
	keysShow(t, m, "enter", "the lock is gone")
	must.Equal(t, len(f.requests), 0, "asked for", f.requests)
}
