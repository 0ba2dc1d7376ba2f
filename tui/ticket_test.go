package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// On Locks, Chain and Findings two keys copy a ticket.
func TestTwoKeysCopyATicket(t *testing.T) {
	t.Parallel()
	sick := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{fixture.Orders()})
	for name, keys := range map[string][]string{"locks": {"Y"}, "chain": {"enter", "Y"}, "findings": {"f", "enter", "j", "Y"}} {
		m := model(t, Options{}, 80, 24, sick)
		press(m, keys...)
		wantText(t, m, "Ticket of zk:/locks/orders", "markdown", "json")
		fits(t, m)
		cmd := press(m, "enter")
		if cmd == nil {
			t.Fatalf("%s: nothing was copied", name)
		}
		text := fmt.Sprint(cmd())
		for _, part := range []string{"# stuck-holder: `zk:/locks/orders`", "`worker-3`", "`worker-7`", "2026-05-04T11:46:02.000Z", "Look at 10.2.0.2"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the ticket lacks %q:\n%s", name, part, text)
			}
		}
		wantNoText(t, m, "Ticket of")
		wantText(t, m, "markdown of zk:/locks/orders sent to the terminal's clipboard")
	}
}

func TestDigitCopiesTicketFormat(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"2": `"id": "zk:/locks/orders"`} {
		m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
		press(m, "Y")
		if cmd := press(m, key); cmd == nil || !strings.Contains(fmt.Sprint(cmd()), want) {
			t.Errorf("%s does not copy %s", key, want)
		}
	}
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	press(m, "Y", "9", "x", "esc")
	wantNoText(t, m, "Ticket of", "sent to")
}

// Without a clipboard the ticket goes to a file, and the screen shows its name. With one, w saves it.
func TestATicketGoesToAFile(t *testing.T) {
	t.Parallel()
	var saved []string
	var fails error
	save := func(_ context.Context, about, extension, text string) (string, error) {
		saved = append(saved, about+extension+" "+strings.SplitN(text, "\n", 2)[0])
		return "/tmp/\x1b[2Jx" + extension, fails
	}
	const heading = "zk:/locks/orders.md # stuck-holder: `zk:/locks/orders`"
	for _, test := range []struct{ none, key, saved, says string }{
		{"", "w", heading, `written to /tmp/\u{1b}[2Jx.md`},
		{"it is a teletype", "enter", heading, `written to /tmp/\u{1b}[2Jx.md`},
		{"it is a teletype", "2", "zk:/locks/orders.json {", `written to /tmp/\u{1b}[2Jx.json`},
	} {
		saved = nil
		m := opened(t, Options{Save: save, NoClipboard: test.none}, 80, 24, fixture.Orders().ID)
		press(m, "Y")
		wantText(t, m, test.none)
		cmd := press(m, test.key)
		wantText(t, m, "writing the file")
		send(m, cmd())
		wantText(t, m, test.says)
		wantNoText(t, m, "Ticket of")
		if len(saved) != 1 || !strings.HasPrefix(saved[0], test.saved) {
			t.Errorf("saved %q, want %q", saved, test.saved)
		}
	}
	fails = errors.New("disk full")
	m := opened(t, Options{Save: save}, 80, 24, fixture.Orders().ID)
	press(m, "Y")
	send(m, press(m, "w")())
	wantText(t, m, "not written: disk full")
}

// A ticket that is too long for the terminal's clipboard goes to a file.
func TestLongTicketGoesToFile(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for range 2000 {
		l.Waiters = append(l.Waiters, l.Waiters[0])
	}
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{l}))
	goTo(m, screen.Chain, screen.Subject{Lock: l.ID})
	press(m, "Y")
	send(m, press(m, "2")())
	wantText(t, m, "not written: this screen writes no files")
}

func TestNoTicketWithoutALock(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 80, 24, inspect.NewSnapshot(fixture.Noon, fixture.Backends(), nil))
	press(m, "Y")
	wantText(t, m, "no lock or finding is selected")
}
