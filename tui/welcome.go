package tui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"
)

// Local lists the servers on this machine that answer, as targets, and the ports tried.
type Local struct {
	Targets, Tried []string
}

// Chosen is a user's choice on the welcome page: the demonstration, a target, or nothing.
type Chosen struct {
	Demo   bool
	Target string
}

// Welcome introduces the program and the ways to name servers, until the user chooses or leaves.
// look searches for servers on this machine, once; nil offers none.
func Welcome(
	ctx context.Context, o theme.Options, look func(context.Context) Local, options ...tea.ProgramOption,
) (Chosen, error) {
	w := &welcome{theme: theme.New(o), width: roomyWidth, height: roomyHeight, options: o}
	if look != nil {
		w.look = func() tea.Msg { return localFoundMsg(look(ctx)) }
	}
	if err := runProgram(ctx, w, options); err != nil {
		return Chosen{}, err
	}
	return w.chosen, nil
}

// welcome is the page for a start without servers.
type welcome struct {
	theme         *theme.Theme
	options       theme.Options
	width, height int
	look          tea.Cmd
	local         Local
	chosen        Chosen
}

// localFoundMsg carries the servers on this machine that answer.
type localFoundMsg Local

// offeredLocally limits the local servers on offer, since each needs a digit.
const offeredLocally = 6

// Init asks for the background's colour and for local servers, without waiting for either.
func (w *welcome) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, w.look) }

// Update closes the page on a key that makes a choice.
func (w *welcome) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		w.width, w.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		w.options.Profile = msg.Profile
		w.theme = theme.New(w.options)
	case tea.BackgroundColorMsg:
		w.options.Light = !msg.IsDark()
		w.theme = theme.New(w.options)
	case localFoundMsg:
		w.local = Local(msg)
		w.local.Targets = w.local.Targets[:min(len(w.local.Targets), offeredLocally)]
	case tea.KeyPressMsg:
		for i, target := range w.local.Targets {
			if msg.String() == strconv.Itoa(i+1) {
				w.chosen.Target = target
				return w, tea.Quit
			}
		}
		switch msg.String() {
		case "enter", "d":
			w.chosen.Demo = true
			return w, tea.Quit
		case "q", "esc", "ctrl+c":
			return w, tea.Quit
		}
	}
	return w, nil
}

// View draws the page in the middle of the window.
func (w *welcome) View() tea.View {
	v := tea.NewView(w.content())
	v.AltScreen = true
	v.WindowTitle = "lockscope"
	return v
}

func (w *welcome) content() string {
	lines := w.lines()
	if len(lines) > w.height { // the keys are last: cut the text above them first
		lines = slices.DeleteFunc(lines, func(l widget.Line) bool { return l == nil })
		lines = slices.Delete(lines, 1, 1+max(0, min(len(lines)-w.height, len(lines)-1)))
	}
	width := 0
	for _, l := range lines {
		width = max(width, l.Width())
	}
	width = min(width, w.width)
	rows := make([]string, 0, len(lines))
	for _, l := range lines[:min(len(lines), w.height)] {
		rows = append(rows, l.Render(width, w.theme.Glyphs.Ellipsis, nil))
	}
	return lipgloss.Place(w.width, w.height, lipgloss.Center, lipgloss.Center, strings.Join(rows, "\n"))
}

func (w *welcome) lines() []widget.Line {
	t := w.theme
	command := func(text, what string) widget.Line {
		if w.width < roomyWidth {
			return widget.Line{{"  " + text, t.Strong}}
		}
		return widget.Line{{"  " + text, t.Strong}}.Align(42, false, "").Add(t.Muted, what)
	}
	if w.width < roomyWidth {
		return w.compactLines(command)
	}
	lines := []widget.Line{
		{{"lockscope", t.Title}, {"  shows the distributed locks in ZooKeeper and Redis:", t.Text}},
		{{"who holds each, who is waiting, for how long, and what is wrong.", t.Text}},
		{{"Light on servers, and read-only unless you start it with --write.", t.Text}},
		nil,
		{{"Point it at:", t.Strong}},
		command("lockscope zk://host:2181/locks", "a ZooKeeper ensemble, below /locks"),
		command("lockscope redis://host:6379", "one Redis"),
		command("lockscope redis://r1,r2,r3", "masters that share locks (Redlock)"),
		command("lockscope config example", "a configuration to start from"),
		nil,
	}
	return append(append(lines, w.localLines()...),
		widget.Line{{"enter", t.Key}, {"  starts a demonstration on embedded servers: nothing to install", t.Waiting}},
		widget.Line{
			{"q", t.Key}, {"      quits   ", t.Muted}, {"lockscope --help", t.Strong}, {" lists the rest", t.Muted},
		},
	)
}

// compactLines have the same content for a window as narrow as 40 cells.
func (w *welcome) compactLines(command func(text, what string) widget.Line) []widget.Line {
	t := w.theme
	lines := []widget.Line{
		{{"lockscope", t.Title}, {"  shows locks; read-only", t.Text}},
		nil,
		{{"Point it at:", t.Strong}},
		command("lockscope zk://host:2181/locks", ""),
		command("lockscope redis://host:6379", ""),
		command("lockscope redis://r1,r2,r3", ""),
		command("lockscope config example", ""),
		nil,
	}
	return append(append(lines, w.localLines()...),
		widget.Line{{"enter", t.Key}, {"  starts a demonstration", t.Waiting}},
		widget.Line{{"q", t.Key}, {"      quits   ", t.Muted}, {"lockscope --help", t.Strong}},
	)
}

// localLines list the servers on this machine, and the ports tried; empty until the search has
// ended.
func (w *welcome) localLines() []widget.Line {
	t := w.theme
	if len(w.local.Tried) == 0 {
		return nil
	}
	if w.width < roomyWidth && len(w.local.Targets) == 0 {
		return []widget.Line{{{"No server answers on this machine", t.Muted}}, nil}
	}
	asked := " (asked: 127.0.0.1, ports " + strings.Join(w.local.Tried, " ") + ")"
	if len(w.local.Targets) == 0 {
		return []widget.Line{{{"No server answers here" + asked, t.Muted}}, nil}
	}
	lines := []widget.Line{{{"On this machine:", t.Strong}, {asked, t.Muted}}}
	if w.width < roomyWidth {
		lines[0] = lines[0][:1]
	}
	for i, target := range w.local.Targets {
		lines = append(lines, widget.Line{{"  " + strconv.Itoa(i+1), t.Key}, {"  lockscope " + target, t.Strong}})
	}
	return append(lines, nil)
}
