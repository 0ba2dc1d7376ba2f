package tui

import (
	"fmt"
	"time"

	"lockscope/inspect/describe"
	"lockscope/internal/text"
)

// gaugeCells is how wide a hold's bar and the time beside it are.
const gaugeCells = 15

// lines draws what was taken by hand, in at most height lines: the list, and below it what is known of the selected one.
// chosen: the keys are for this pane.
func (h *hand) lines(width, height int, chosen bool) []line {
	if len(h.takes) == 0 {
		return h.emptyLines(width)
	}
	details := h.detailLines(h.selected(), width)
	room := max(1, min(len(h.takes), height-len(details)-1))
	h.top = max(min(h.top, h.cursor), h.cursor-room+1)
	h.top = max(0, min(h.top, len(h.takes)-room))
	var lines []line
	for i, k := range h.takes[h.top:min(len(h.takes), h.top+room)] {
		lines = append(lines, h.row(k, width, chosen && h.top+i == h.cursor))
	}
	more(h.Theme(), lines, h.top, len(h.takes), width)
	return append(append(lines, nil), details...)
}

// need is how high the pane is that shows everything.
func (h *hand) need() int { return paneHead + len(h.takes) + 6 }

func (h *hand) emptyLines(width int) []line {
	t := h.Theme()
	text := "You hold nothing. a takes the lock that is selected, or one whose name you type: try once, or wait for it in its queue."
	if why := h.ReadOnly(); why != "" {
		text = "Nothing can be taken here: " + why + "."
	}
	var lines []line
	for _, part := range wrap(text, width-2, 4, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{" " + part, t.Muted}})
	}
	return lines
}

// sign is the glyph and style of a take.
func (h *hand) sign(k *take) span {
	t := h.Theme()
	switch k.state {
	case takeHolds:
		return span{t.Glyphs.Holding, t.Holding}
	case takeLost:
		return span{t.Glyphs.Critical, t.Critical}
	case takeFailed:
		return span{t.Glyphs.Warning, t.Warning}
	case takeWaits:
		return span{t.Glyphs.Waiting, t.Waiting}
	default:
		return span{t.Glyphs.Pending, t.Waiting}
	}
}

func (h *hand) row(k *take, width int, selected bool) line {
	t := h.Theme()
	out := line{{" ", t.Text}}
	if selected {
		out = line{{t.Glyphs.Cursor, t.Holding}}
	}
	out = append(out, h.sign(k), span{" ", t.Text})
	right := h.standing(k)
	name := k.order.Lock.String()
	if k.within != 0 {
		out = out.add(t.Faint, t.Glyphs.LastBranch+" ")
	}
	room := width - out.width() - right.width() - 2
	style := t.Text
	if selected {
		style = t.Strong
	}
	out = append(out, line{{text.Middle(name, max(8, room), t.Glyphs.Ellipsis), style}}...)
	return spread(out, right, width-1, t.Glyphs.Ellipsis)
}

// standing is how a take stands, in a word or a bar.
func (h *hand) standing(k *take) line {
	t, now := h.Theme(), h.Clock()
	switch k.state {
	case takeAsked:
		return line{{"asking" + t.Glyphs.Ellipsis, t.Muted}}
	case takeWaits:
		return line{{"waits " + describe.Seconds(now.Sub(k.asked)), t.Waiting}}
	case takeReleasing:
		return line{{"releasing" + t.Glyphs.Ellipsis, t.Muted}}
	case takeLost:
		return line{{"LOST", t.Critical}}
	case takeFailed:
		return line{{"not held", t.Warning}}
	}
	l := line{{"held " + describe.Seconds(now.Sub(k.got)) + "  ", t.Text}}
	at, ok := k.hold.Deadline()
	if !ok {
		return l
	}
	return append(l, h.countdown(k, at.Sub(now))...)
}

// countdown is a bar of what is left until the deadline, in whole seconds.
func (h *hand) countdown(k *take, left time.Duration) line {
	t := h.Theme()
	k.full = max(k.full, left)
	full, rest := t.Gauge(float64(left)/float64(max(1, k.full)), gaugeCells-5)
	style := t.Holding
	if left < k.full/3 {
		style = t.Warning
	}
	return line{{full, style}, {rest, t.Faint}, {fmt.Sprintf("%5s", describe.Seconds(left)), t.Text}}
}

// detailLines say what is known of a take.
func (h *hand) detailLines(k *take, width int) []line {
	t := h.Theme()
	label := func(name, words string) line {
		return line{{fmt.Sprintf(" %-7s", name), t.Muted}, {text.Middle(words, max(8, width-9), t.Glyphs.Ellipsis), t.Text}}
	}
	var lines []line
	if k.name != "" {
		lines = append(lines, label("name", describe.Printable(k.name)))
	}
	how := k.order.Kind
	if k.order.Recipe != "" {
		how += " " + t.Glyphs.Dot + " " + k.order.Recipe
	} else {
		how += " " + t.Glyphs.Dot + " TTL " + describe.Exact(k.order.TTL)
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
		style, text = t.Waiting, placeWords(h.Snapshot().Lock(k.order.Lock), k.name)+h.limitWords(k)
	case takeLost:
		style, text = t.Critical, k.text+"; r takes it off this list"
	case takeFailed:
		style, text = t.Warning, k.text+"; r takes it off this list"
	case takeHolds:
		if text = "it is proved again and again; the bar is how long it would last if the servers fell silent"; k.within != 0 {
			text = "entered again: the lock is free when the last of its holds is released"
		}
	}
	for _, part := range wrap(text, width-2, 3, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{" " + part, style}})
	}
	return lines
}

// limitWords say for how long it waits yet.
func (h *hand) limitWords(k *take) string {
	if k.order.Wait == 0 {
		return ""
	}
	return "; for " + describe.Seconds(k.asked.Add(k.order.Wait).Sub(h.Clock())) + " yet"
}
