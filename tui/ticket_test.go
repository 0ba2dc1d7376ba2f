package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// savedTicket is what one export writes.
type savedTicket struct{ name, text string }

func (w *savedTicket) save(_ context.Context, about, extension, text string) (string, error) {
	w.name, w.text = about+extension, text
	return "/tmp/\x1b[2Jx" + extension, nil
}

// exported presses a key in the menu, and returns the texts that its commands carry.
func exported(t *testing.T, m *Model, key string) (texts string) {
	t.Helper()
	cmd := press(m, key)
	wantText(t, m, "writing the file")
	must.True(t, press(m, key) == nil, "a second key writes another file")
	list, both := cmd().(tea.BatchMsg)
	if !both {
		list = tea.BatchMsg{cmd}
	}
	for _, one := range list {
		msg := one()
		texts += fmt.Sprint(msg)
		send(m, msg)
	}
	wantNoText(t, m, "Ticket of")
	return texts
}

// On Locks, Chain and Findings two keys save a ticket and copy it.
func TestTwoKeysExportATicket(t *testing.T) {
	t.Parallel()
	sick := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{fixture.Orders()})
	for name, keys := range map[string][]string{"locks": {"Y"}, "chain": {"enter", "Y"}, "findings": {"f", "enter", "j", "Y"}} {
		var file savedTicket
		m := model(t, Options{Save: file.save}, 80, 24, sick)
		press(m, keys...)
		wantText(t, m, "Ticket of zk:/locks/orders", "markdown", "json")
		fits(t, m)
		copied := exported(t, m, "enter")
		for _, part := range []string{"# stuck-holder: `zk:/locks/orders`", "`worker-3`", "`worker-7`", "2026-05-04T11:46:02.000Z", "Look at 10.2.0.2"} {
			must.Contain(t, copied, part, name, "copied")
			must.Contain(t, file.text, part, name, "saved")
		}
		wantText(t, m, `written as \u{1b}[2Jx.md in /tmp; sent to the terminal's clipboard`)
	}
}

// Without a clipboard, the ticket only goes to a file. A digit chooses the format.
func TestATicketGoesToAFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ none, key, name, copied string }{
		{"it is a teletype", "enter", "zk:/locks/orders.md", ""},
		{"it is a teletype", "2", "zk:/locks/orders.json", ""},
		{"", "2", "zk:/locks/orders.json", "sent to"},
	} {
		var file savedTicket
		m := opened(t, Options{Save: file.save, NoClipboard: test.none}, 80, 24, fixture.Orders().ID)
		press(m, "Y")
		wantText(t, m, test.none)
		exported(t, m, test.key)
		must.Equal(t, file.name, test.name)
		wantText(t, m, "written as", test.copied)
		if test.copied == "" {
			wantNoText(t, m, "sent to")
		}
	}
	fails := func(context.Context, string, string, string) (string, error) { return "", errors.New("disk full") }
	m := opened(t, Options{Save: fails}, 80, 24, fixture.Orders().ID)
	press(m, "Y")
	exported(t, m, "enter")
	wantText(t, m, "not written: disk full; sent to the terminal's clipboard")
	press(m, "Y", "9", "x", "esc")
	wantNoText(t, m, "Ticket of", "sent to")
}

// A ticket that is too long for the terminal's clipboard only goes to a file.
func TestLongTicketGoesToFile(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for range 2000 {
		l.Waiters = append(l.Waiters, l.Waiters[0])
	}
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
	goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
	press(m, "Y")
	exported(t, m, "2")
	wantText(t, m, "not written: this screen writes no files")
	wantNoText(t, m, "sent to")
}

func TestNoTicketWithoutALock(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), nil))
	press(m, "Y")
	wantText(t, m, "no lock or finding is selected")
}
