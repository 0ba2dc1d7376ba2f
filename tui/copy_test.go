package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestCopyMenu(t *testing.T) {
	t.Parallel()
	commands := func(l *inspect.Lock, c *inspect.Contender) []describe.Command {
		if c == nil {
			return []describe.Command{{Name: "zkCli", Text: "ls " + l.ID.Path}}
		}
		return []describe.Command{{Name: "zkCli", Text: "get " + c.Name.String()}, {Name: "look", Text: "ssh \x1b[2J"}}
	}
	for _, test := range []struct {
		lock inspect.ID
		keys []string
		want string
	}{
		{fixture.Orders().ID, []string{"enter"}, "/locks/orders"},
		{fixture.Orders().ID, []string{"2"}, "zk:/locks/orders"},
		{fixture.Orders().ID, []string{"j", "down", "enter"}, "0x10000abcd025a"},
		{fixture.Orders().ID, []string{"4"}, "10.2.0.2:53122"},
		{fixture.Orders().ID, []string{"8"}, `ssh \u{1b}[2J`},
		{fixture.FreeLock().ID, []string{"3"}, "ls /locks/nightly"},
		{fixture.Hostile().ID, []string{"y"}, inspect.Escape(fixture.Hostile().ID.Path)},
	} {
		m := opened(t, Options{Commands: commands}, 80, 24, test.lock)
		keysShow(t, m, "y", "Copy from "+test.lock.String()[:10], "path")
		must.Equal(t, fmt.Sprint(press(m, test.keys...)()), test.want, "copied")
		wantNoText(t, m, "Copy from")
		wantText(t, m, "sent to the terminal's clipboard: ")
	}
	wantNoText(t, opened(t, Options{}, 80, 24, fixture.Orders().ID, "y", "9", "esc"), "Copy from", "sent to")
}

// The menu copies texts of the selected contender, not of the holder.
func TestCopyUsesSelectedContender(t *testing.T) {
	wantText(t, opened(t, Options{}, 80, 24, fixture.Orders().ID, "j", "y"), "10.2.0.3:53122", "worker-7")
	wantText(t, model(t, Options{}, 80, 24, fixture.Everything(), "j", "y"), "worker-3")
}

func TestCopyMenuIgnoresOtherKeys(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID, "y")
	for _, key := range []tea.KeyPressMsg{{}, keyPress("0"), keyPress("z"), keyPress("é")} {
		must.True(t, send(m, key) == nil && m.HasDialog(), key, "does something")
	}
}

// The command that a finding advises, shown above the queue, is offered first. If two findings
// advise it, it is offered once.
func TestTheAdvisedCommandIsCopied(t *testing.T) {
	l := *fixture.Orders()
	step := fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, "abc")
	l.Findings = []inspect.Finding{
		{Rule: "stuck-holder", Severity: inspect.Warning, Message: "held", Steps: []inspect.Step{fixture.Say("look"), step}},
		{Rule: "ghost-owner", Severity: inspect.Warning, Message: "gone", Steps: []inspect.Step{step}},
	}
	s := snapshotOf(&l)
	for _, keys := range [][]string{{"y"}, {"enter", "y"}} {
		m := model(t, Options{}, 120, 36, s, keys...)
		wantText(t, m, "1  command  "+step.Command, "2  path")
		must.Equal(t, fmt.Sprint(press(m, "1")()), step.Command, "copied")
	}
}

// If the terminal has no clipboard, the text is shown, and nothing claims that it was copied.
func TestNothingIsCopiedWithoutAClipboard(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"y", "1"}, {"c", "y"}, {"b", "y"}, {"C", "y"}} {
		m := model(t, Options{NoClipboard: "this is a test"}, 200, 50, fixture.Everything(), keys[0])
		if keys[0] == "c" {
			makeClients(m)
		}
		must.True(t, press(m, keys[1:]...) == nil, keys, "copied something")
		wantText(t, m, "not copied, this is a test: ")
	}
}

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
	sick := snapshotOf(fixture.Orders())
	for _, keys := range [][]string{{"Y"}, {"enter", "Y"}, {"f", "enter", "j", "Y"}} {
		var file savedTicket
		m := model(t, Options{Save: file.save}, 80, 24, sick, keys...)
		wantText(t, m, "Ticket of zk:/locks/orders", "markdown", "json")
		copied := exported(t, m, "enter")
		parts := []string{"# stuck-holder: `zk:/locks/orders`", "`worker-3`", "`worker-7`", "2026-05-04T11:46:02.000Z", "Look at 10.2.0.2"}
		wantIn(t, copied, parts...)
		wantIn(t, file.text, parts...)
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
		keysShow(t, m, "Y", test.none)
		exported(t, m, test.key)
		must.Equal(t, file.name, test.name)
		wantText(t, m, "written as", test.copied)
		if test.copied == "" {
			wantNoText(t, m, "sent to")
		}
	}
	fails := func(context.Context, string, string, string) (string, error) { return "", errors.New("disk full") }
	m := opened(t, Options{Save: fails}, 80, 24, fixture.Orders().ID, "Y")
	exported(t, m, "enter")
	wantText(t, m, "not written: disk full; sent to the terminal's clipboard")
	keysHide(t, m, "Y 9 x esc", "Ticket of", "sent to")
}

// A ticket that is too long for the terminal's clipboard only goes to a file.
func TestLongTicketGoesToFile(t *testing.T) {
	t.Parallel()
	l := fixture.Orders()
	for range 2000 {
		l.Waiters = append(l.Waiters, l.Waiters[0])
	}
	m := goTo(model(t, Options{}, 80, 24, snapshotOf(l)), screen.Chain, screen.Subject{Lock: l.ID})
	press(m, "Y")
	exported(t, m, "2")
	wantText(t, m, "not written: this screen writes no files")
	wantNoText(t, m, "sent to")
}

func TestNoTicketWithoutALock(t *testing.T) {
	t.Parallel()
	wantText(t, model(t, Options{}, 80, 24, snapshotOf(), "Y"), "no lock or finding is selected")
}
