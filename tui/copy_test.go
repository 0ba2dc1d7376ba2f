package tui

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
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
		press(m, "y")
		wantText(t, m, "Copy from "+test.lock.String()[:10], "path")
		fits(t, m)
		must.Equal(t, fmt.Sprint(press(m, test.keys...)()), test.want, "copied")
		wantNoText(t, m, "Copy from")
		wantText(t, m, "sent to the terminal's clipboard: ")
	}
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	press(m, "y", "9", "esc")
	wantNoText(t, m, "Copy from", "sent to")
}

// The menu copies texts of the selected contender, not of the holder.
func TestCopyUsesSelectedContender(t *testing.T) {
	m := opened(t, Options{}, 80, 24, fixture.Orders().ID)
	press(m, "j", "y")
	wantText(t, m, "10.2.0.3:53122", "worker-7")
	m = model(t, Options{}, 80, 24, fixture.Everything())
	press(m, "j", "y")
	wantText(t, m, "worker-3")
}

func TestCopyMenuIgnoresOtherKeys(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	press(m, "y")
	for _, key := range []tea.KeyPressMsg{{}, keyPress("0"), keyPress("z"), keyPress("é")} {
		must.True(t, send(m, key) == nil && m.HasDialog(), key, "does something")
	}
}

// The command that a finding advises, shown above the queue, is offered first. If two findings
// advise it, it is offered once.
func TestTheAdvisedCommandIsCopied(t *testing.T) {
	t.Parallel()
	l := *fixture.Orders()
	step := fixture.Act(inspect.VerbRelease, "if it hangs", l.ID, "abc")
	l.Findings = []inspect.Finding{
		{Rule: "stuck-holder", Severity: inspect.Warning, Message: "held", Steps: []inspect.Step{fixture.Say("look"), step}},
		{Rule: "ghost-owner", Severity: inspect.Warning, Message: "gone", Steps: []inspect.Step{step}},
	}
	s := inspect.NewSnapshot(fixture.Noon, fixture.Backends(), []*inspect.Lock{&l})
	for _, keys := range [][]string{{"y"}, {"enter", "y"}} {
		m := model(t, Options{}, 120, 36, s)
		press(m, keys...)
		wantText(t, m, "1  command  "+step.Command, "2  path")
		must.Equal(t, fmt.Sprint(press(m, "1")()), step.Command, "copied")
	}
}

// If the terminal has no clipboard, the text is shown, and nothing claims that it was copied.
func TestNothingIsCopiedWithoutAClipboard(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"y", "1"}, {"c", "y"}, {"b", "y"}, {"C", "y"}} {
		m := model(t, Options{NoClipboard: "this is a test"}, 200, 50, fixture.Everything())
		press(m, keys[0])
		if keys[0] == "c" {
			makeClients(m)
		}
		must.True(t, press(m, keys[1:]...) == nil, keys, "copied something")
		wantText(t, m, "not copied, this is a test: ")
	}
}
