package release

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// phase is a dialog's phase.
type phase int

const (
	warning    phase = iota // the user confirms something before the preview
	asking                  // the user types something for the preview
	previewing              // the preview is under way
	confirming              // the word is being typed
	executing               // the action is under way
	finished                // its result is shown, or why there is none
)

// flow leads a dialog through its phases. Each phase defaults to Cancel.
type flow struct {
	screen.Context
	generation int
	phase      phase
	prompts    []*prompt // unanswered
	why        *string   // the reason, where production asks for one
	confirm    confirmation
	// text scrolls the preview. hidden counts the lines outside the window, and page is the
	// length of a page.
	text         widget.Scroller
	hidden, page int
	// preview and execute start these phases.
	preview, execute func() tea.Cmd
}

// newFlow first asks for a reason in production, and stores it in *why.
func newFlow(host screen.Context, why *string) flow {
	f := flow{Context: host, generation: host.Number(), why: why}
	f.askWhy()
	return f
}

func (f *flow) askWhy() {
	if f.Production() && f.MayAct() == "" {
		f.prompts = append(f.prompts, whyPrompt(f.why))
	}
}

// armed continues with a new preview once writing is allowed.
func (f *flow) armed() tea.Cmd {
	if f.phase != confirming {
		return nil
	}
	f.askWhy()
	return f.next()
}

// next moves on to the next prompt or, after the last one, to the preview.
func (f *flow) next() tea.Cmd {
	if len(f.prompts) > 0 {
		f.phase = asking
		return nil
	}
	f.phase = previewing
	return f.preview()
}

// press handles a key in any phase but the warning.
func (f *flow) press(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	key := msg.String()
	leaves := key == "esc" || key == "q" || key == "enter" && f.phase != previewing
	switch {
	case f.phase == executing:
		return nil, false // a request that was sent cannot be called back; its result must be seen
	case f.phase == asking:
		return f.answer(msg)
	case f.scrolls(key):
		return nil, false
	case f.phase == confirming && key == "w" && f.Arm() != nil:
		return f.Arm(), false
	case f.phase != confirming || f.MayAct() != "":
		return nil, leaves
	}
	switch f.confirm.press(msg) {
	case given:
		f.phase = executing
		return f.execute(), false
	case cancelled:
		return nil, true
	default:
		return nil, false
	}
}

// answer handles a key while a prompt is open.
func (f *flow) answer(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	confirmed, closed, _ := f.prompts[0].form.Press(msg)
	if !confirmed {
		return nil, closed
	}
	f.prompts = f.prompts[1:]
	return f.next(), false
}

func (f *flow) scrolls(key string) bool {
	switch {
	case f.phase != confirming && f.phase != finished:
		return false
	case key == "up":
		f.text.Scroll(-1, f.hidden, 0)
	case key == "down":
		f.text.Scroll(1, f.hidden, 0)
	case key == "pgup":
		f.text.Scroll(-f.page, f.hidden, 0)
	case key == "pgdown":
		f.text.Scroll(f.page, f.hidden, 0)
	default:
		return false
	}
	return true
}

// Actions returns the dialog's keys, for the footer.
func (f *flow) Actions() []screen.Action {
	switch {
	case f.phase == asking:
		return screen.FormActions(&f.prompts[0].form)
	case f.phase == confirming && f.Arm() != nil:
		return []screen.Action{{Shown: "w", Hint: "allow this action"}, {Shown: "enter/esc", Hint: "close"}}
	case f.phase == confirming && f.MayAct() != "":
		return []screen.Action{{Shown: "enter/esc", Hint: "close"}}
	case f.phase == confirming:
		return f.confirm.actions()
	case f.phase == executing:
		return []screen.Action{{Shown: "...", Hint: "wait for the result"}}
	case f.phase == finished:
		return []screen.Action{{Shown: "enter", Hint: "close"}}
	default:
		return []screen.Action{{Shown: "esc", Hint: "cancel"}}
	}
}

// fit keeps the scroll position within lines, of which room are visible.
func (f *flow) fit(lines []widget.Line, room int) {
	f.hidden, f.page = 0, max(1, room-2)
	if len(lines) > room {
		f.hidden = len(lines) - room + 1
	}
	f.text.Scroll(0, f.hidden, 0)
}

// scrolled returns the lines that fit, with the number of the rest.
func (f *flow) scrolled(lines []widget.Line, room int) []widget.Line {
	if len(lines) <= room {
		return lines
	}
	note := fmt.Sprintf("%s %s: up/down, pgup/pgdn", f.Theme().Glyphs.Down, describe.Count(f.hidden-f.text.Top, "more line"))
	if f.text.Top == f.hidden {
		note = fmt.Sprintf("%s %s: up/down, pgup/pgdn", f.Theme().Glyphs.Up, describe.Count(f.text.Top, "more line"))
	}
	return append(slices.Clone(lines[f.text.Top:f.text.Top+room-1]), f.labelled("", widget.Line{{
		note, f.Theme().Waiting,
	}}))
}

// consentLines are the word's field and the two buttons or, if the action is not allowed, the
// reason.
func (f *flow) consentLines() []widget.Line {
	t := f.Theme()
	if why := f.MayAct(); why != "" {
		note := " Preview only (" + why + ")"
		if f.Arm() != nil {
			note = " Preview only (read-only). w allows this one action."
		}
		return []widget.Line{
			{{t.Glyphs.Warning + note, t.Warning}},
			nil,
			{{"[ Close ]", t.Strong.Reverse()}},
		}
	}
	return f.confirm.lines(t)
}

func (f *flow) labelled(label string, l widget.Line) widget.Line {
	return append(widget.Line{{fmt.Sprintf("%-*s", labelWidth, label), f.Theme().Muted}}, l...)
}

// labelWidth is the room for a label, in cells.
const labelWidth = 9

// bullets formats warnings, wrapped.
func (f *flow) bullets(width int, texts ...string) []widget.Line {
	t := f.Theme()
	var lines []widget.Line
	for _, text := range texts {
		for i, part := range widget.Wrap(describe.Sentence(describe.Printable(text)), width-2, 4, t.Glyphs.Ellipsis) {
			lead := widget.Span{"  ", t.Text}
			if i == 0 {
				lead = widget.Span{t.Glyphs.Warning + " ", t.Warning}
			}
			lines = append(lines, widget.Line{lead, {part, t.Text}})
		}
	}
	return lines
}

// roomy is the height from which all requests are shown in order and in full. Below it, the last
// one comes before the checks that precede it, and only that is in full.
const roomy = 30

// sendLines limits the lines of one request.
const sendLines = 12

// sends lists the requests to be sent. With checked, all but the last check that nothing has changed.
func (f *flow) sends(width, height int, commands []string, checked bool) []widget.Line {
	t := f.Theme()
	room := width - 11
	if last := len(commands) - 1; checked && last > 0 && height < roomy {
		commands = append([]string{commands[last]}, commands[:last]...)
		for i, check := range commands[1:] {
			commands[i+1] = "first " + shortened(check, room-len("first "), t.Glyphs.Ellipsis)
		}
	}
	var lines []widget.Line
	for i, command := range commands {
		for j, part := range widget.Wrap(describe.Printable(command), room, sendLines, t.Glyphs.Ellipsis) {
			label, lead := "", "  "
			if i == 0 && j == 0 {
				label = "Sends"
			}
			if j == 0 {
				lead = t.Glyphs.Dot + " "
			}
			lines = append(lines, f.labelled(label, widget.Line{{lead, t.Muted}, {part, t.Text}}))
		}
	}
	return lines
}

// shortened fits a request into one line, or two with its znode's path cut.
func shortened(command string, room int, tail string) string {
	before, rest, isPath := strings.Cut(describe.Printable(command), " /")
	if !isPath {
		return text.Middle(before, room, tail)
	}
	path, condition, _ := strings.Cut(rest, " ")
	return strings.TrimSpace(text.Middle(before+" "+text.Middle("/"+path, room/2, tail)+" "+condition, 2*room, tail))
}
