package lab

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/widget"
)

// gaugeCells is the width of a hold's bar and its time.
const gaugeCells = 15

// lines draws the takes, and the details of the selected one, in at most height lines. chosen is
// set if the pane has the focus.
func (h *hand) lines(width, height int, chosen bool) []widget.Line {
	if len(h.Takes) == 0 {
		return h.emptyLines(width)
	}
	details := h.detailLines(h.selected(), width)
	from, to := h.list.Visible(len(h.Takes), h.room(width, height))
	var lines []widget.Line
	for i, k := range h.Takes[from:to] {
		lines = append(lines, h.row(k, width, chosen && from+i == h.list.At))
	}
	widget.More(h.Theme(), lines, from, len(h.Takes), width)
	return append(append(lines, nil), details...)
}

// room is the number of visible takes.
func (h *hand) room(width, height int) int {
	if len(h.Takes) == 0 {
		return 1
	}
	return max(1, min(len(h.Takes), height-len(h.detailLines(h.selected(), width))-1))
}

// setSize keeps the cursor visible.
func (h *hand) setSize(width, height int) {
	h.list.At = max(0, min(h.list.At, len(h.Takes)-1))
	h.list.To(h.list.At, len(h.Takes), h.room(width, height))
}

// need is the height that shows everything, and a blank line.
func (h *hand) need(width int) int {
	if len(h.Takes) == 0 {
		return paneHead + len(h.emptyLines(width)) + 1
	}
	return paneHead + len(h.Takes) + 6
}

func (h *hand) emptyLines(width int) []widget.Line {
	t := h.Theme()
	text := "You hold nothing. Press a to acquire a lock: try once, or wait in its queue."
	if why := h.CannotAcquire(); why != "" {
		text = "Nothing can be acquired here: " + why + "."
	}
	var lines []widget.Line
	for _, part := range widget.Wrap(text, width-2, 4, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{" " + part, t.Muted}})
	}
	return lines
}

func (h *hand) sign(k *Take) widget.Span {
	t := h.Theme()
	switch k.state {
	case takeHolds:
		return widget.Span{t.Glyphs.Holding, t.Holding}
	case takeLost:
		return widget.Span{t.Glyphs.Critical, t.Critical}
	case takeFailed:
		return widget.Span{t.Glyphs.Warning, t.Warning}
	case takeWaits:
		return widget.Span{t.Glyphs.Waiting, t.Waiting}
	default:
		return widget.Span{t.Glyphs.Pending, t.Waiting}
	}
}

func (h *hand) row(k *Take, width int, selected bool) widget.Line {
	t := h.Theme()
	out := widget.Line{{" ", t.Text}}
	if selected {
		out = widget.Line{{t.Glyphs.Cursor, t.Holding}}
	}
	out = append(out, h.sign(k), widget.Span{" ", t.Text})
	right := h.standing(k)
	name := k.Order.Lock.String()
	if k.within != 0 {
		out = out.Add(t.Faint, t.Glyphs.LastBranch+" ")
	}
	room := width - out.Width() - right.Width() - 1 - widget.Gap
	style := t.Text
	if selected {
		style = t.Strong
	}
	out = append(out, widget.Line{{text.Middle(name, max(8, room), t.Glyphs.Ellipsis), style}}...)
	return widget.Spread(out, right, width-1, t.Glyphs.Ellipsis)
}

// standing is a take's state as a word, or a hold's remaining time as a bar.
func (h *hand) standing(k *Take) widget.Line {
	t, now := h.Theme(), h.Clock()
	switch k.state {
	case takeAsked:
		return widget.Line{{"asking" + t.Glyphs.Ellipsis, t.Muted}}
	case takeWaits:
		return widget.Line{{"waits " + describe.Seconds(now.Sub(k.asked)), t.Waiting}}
	case takeReleasing:
		return widget.Line{{"releasing" + t.Glyphs.Ellipsis, t.Muted}}
	case takeLost:
		return widget.Line{{"LOST", t.Critical}}
	case takeFailed:
		return widget.Line{{"not held", t.Warning}}
	}
	var l widget.Line
	if seen := h.Snapshot().Lock(k.Order.Lock); seen != nil && seen.Waiting() > 0 {
		l = l.Add(t.Waiting, fmt.Sprintf("%d waiting  ", seen.Waiting()))
	}
	l = l.Add(t.Text, "held "+describe.Seconds(now.Sub(k.got))+"  ")
	at, ok := k.hold.Deadline()
	if !ok {
		return l
	}
	return append(l, h.countdown(k, at.Sub(now))...)
}

// countdown is a bar for the time until the deadline, in whole seconds.
func (h *hand) countdown(k *Take, left time.Duration) widget.Line {
	t := h.Theme()
	k.full = max(k.full, left)
	full, rest := t.Gauge(float64(left)/float64(max(1, k.full)), gaugeCells-5)
	style := t.Holding
	if left < k.full/3 {
		style = t.Warning
	}
	return widget.Line{{full, style}, {rest, t.Faint}, {fmt.Sprintf("%5s", describe.Seconds(left)), t.Text}}
}

// detailLines are a take's name, token and times, if known.
func (h *hand) detailLines(k *Take, width int) []widget.Line {
	t := h.Theme()
	label := func(name, words string) widget.Line {
		return widget.Line{
			{fmt.Sprintf(" %-7s", name), t.Muted}, {text.Middle(words, max(8, width-9), t.Glyphs.Ellipsis), t.Text},
		}
	}
	var lines []widget.Line
	if k.name != "" {
		lines = append(lines, label("name", describe.Printable(k.name)))
	}
	how := k.Order.Kind
	if k.Order.Recipe != "" {
		how += " " + t.Glyphs.Dot + " " + k.Order.Recipe
	} else {
		how += " " + t.Glyphs.Dot + " TTL " + describe.Exact(k.Order.TTL)
	}
	switch {
	case k.fenced:
		how += fmt.Sprintf("   token %d", k.token)
	case k.state == takeHolds:
		how += "   no fencing token"
	}
	lines = append(lines, label("kind", how))
	style, text := t.Muted, ""
	switch k.state {
	case takeWaits:
		style, text = t.Waiting, placeWords(h.Snapshot().Lock(k.Order.Lock), k.name)+h.limitWords(k)
	case takeLost:
		style, text = t.Critical, k.text+"; r clears it"
	case takeFailed:
		style, text = t.Warning, k.text+"; r clears it"
	case takeHolds:
		if text = "renewed continuously; the bar is the time left if the servers stop responding"; k.within != 0 {
			text = "re-entered: the lock is free when its last hold is released"
		}
	}
	for _, part := range widget.Wrap(text, width-2, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{" " + part, style}})
	}
	return lines
}

// limitWords say how much longer it waits.
func (h *hand) limitWords(k *Take) string {
	if k.Order.Wait == 0 {
		return ""
	}
	return "; gives up in " + describe.Seconds(k.asked.Add(k.Order.Wait).Sub(h.Clock()))
}
