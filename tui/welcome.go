package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	tea "charm.land/bubbletea/v2"

	"lockscope/theme"
	"lockscope/tui/widget"
)

// Welcome introduces the program and the ways to name servers, until the user asks for the demonstration (true) or
// leaves.
func Welcome(ctx context.Context, o theme.Options, options ...tea.ProgramOption) (demo bool, err error) {
	w := &welcome{theme: theme.New(o), width: roomyWidth, height: roomyHeight, options: o}
	_, err = tea.NewProgram(w, append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}, options...)...).Run()
	if err == nil || ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return w.demo, nil
	}
	return false, fmt.Errorf("tui: %w", err)
}

// welcome is the page for a start without any servers named.
type welcome struct {
	theme         *theme.Theme
	options       theme.Options
	width, height int
	demo          bool
}

// Init asks for the background's colour, without waiting for it.
func (w *welcome) Init() tea.Cmd { return tea.RequestBackgroundColor }

// Update ends the page with a key.
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
	case tea.KeyPressMsg:
		switch msg.String() {
		case "enter", "d":
			w.demo = true
			return w, tea.Quit
		case "q", "esc", "ctrl+c":
			return w, tea.Quit
		}
	}
	return w, nil
}

// View is the page in the middle of the window.
func (w *welcome) View() tea.View {
	v := tea.NewView(w.content())
	v.AltScreen = true
	v.WindowTitle = "lockscope"
	return v
}

func (w *welcome) content() string {
	lines := w.lines()
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
		return widget.Line{{"  " + text, t.Strong}}.Align(42, false, "").Add(t.Muted, what)
	}
	return []widget.Line{
		{{"lockscope", t.Title}, {"  sees the distributed locks in ZooKeeper and Redis:", t.Text}},
		{{"who holds each, who waits in which order, for how long, and what is wrong.", t.Text}},
		{{"It only reads, and little of it; nothing is changed unless started with --write.", t.Text}},
		nil,
		{{"Say where to look:", t.Strong}},
		command("lockscope zk://host:2181/locks", "a ZooKeeper ensemble, below /locks"),
		command("lockscope redis://host:6379", "one Redis"),
		command("lockscope redis://r1,r2,r3", "masters that share locks (Redlock)"),
		command("lockscope config example", "a configuration to start from"),
		nil,
		{{"enter", t.Key}, {"  starts a demonstration on embedded servers: nothing to install", t.Waiting}},
		{{"q", t.Key}, {"      quits   ", t.Muted}, {"lockscope --help", t.Strong}, {" lists the rest", t.Muted}},
	}
}
