package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Bulk is the dialog of an action on several locks. Each is previewed, guarded, done, audited and
// reported separately. The first action that deviates from its preview ends it.
type Bulk struct {
	flow
	releasers act.Releasers
	words     words
	template  act.Request
	items     []*act.Item
	// left lists the omitted locks and the reasons.
	left []string
	at   int // the item that is carried out
	err  error
	sent bool
}

type bulkPreviewedMsg struct {
	generation int
	err        error
}

// bulkDoneMsg carries the outcome of one item.
type bulkDoneMsg struct {
	generation, at int
	item           act.Item
	well           bool
}

// Choice is a lock for a bulk action, and its contender; empty means its holder. Waiter is set if
// the contender may be removed while it waits. A choice with a reason, Why, is left out.
type Choice struct {
	Lock   *inspect.Lock
	Owner  inspect.Untrusted
	Waiter bool
	Why    string
}

// NewBulk returns the dialog for a forced release of several locks.
func NewBulk(host screen.Context, releasers act.Releasers, list []Choice) *Bulk {
	return newBulk(host, releasers, list, releaseWords)
}

// NewBulkAsk returns the dialog that asks the holders of several locks to release them.
func NewBulkAsk(host screen.Context, releasers act.Releasers, list []Choice) *Bulk {
	d := newBulk(host, releasers, list, askWords)
	for _, item := range d.items {
		item.Request.Ask, item.Request.Wait = true, act.DefaultAskWait
	}
	return d
}

// NewBulkTTL returns the dialog that sets a TTL on the keys of several locks.
func NewBulkTTL(host screen.Context, releasers act.Releasers, list []Choice) *Bulk {
	d := newBulk(host, releasers, list, ttlWords)
	d.prompts = append([]*prompt{ttlPrompt(&d.template)}, d.prompts...)
	return d
}

func newBulk(host screen.Context, releasers act.Releasers, list []Choice, w words) *Bulk {
	d := &Bulk{releasers: releasers, words: w}
	d.flow = newFlow(host, &d.template.Why)
	d.preview, d.execute = d.requestPreviews, d.send
	for _, c := range list {
		if item, why := itemOf(c); why != "" {
			d.left = append(d.left, c.Lock.ID.String()+": "+why)
		} else {
			d.items = append(d.items, item)
		}
	}
	d.confirm = confirmation{does: w.button + " all", what: "number"}
	return d
}

// itemOf is a choice's item, or the reason why it is left out. If there are several holders, the
// user must choose one on the lock's chain.
func itemOf(c Choice) (item *act.Item, why string) {
	l, owner, waiter := c.Lock, c.Owner, c.Waiter
	switch {
	case c.Why != "":
		return nil, c.Why
	case owner != "":
		waiter = waiter || l.State == inspect.StateMinority || l.State == inspect.StateSplit
	case l.State == inspect.StateFree:
		return nil, "it has no holder"
	case len(l.Holders) == 0:
		return nil, "its holder is unknown: choose on its chain"
	case len(l.Holders) != 1:
		return nil, fmt.Sprintf("it has %s: choose on its chain", describe.Count(len(l.Holders), "holder"))
	default:
		owner = l.Holders[0].Argument()
	}
	if l.Confidence == recipe.Possible {
		return nil, "it may not be a lock"
	}
	return &act.Item{Request: act.Request{ID: l.ID, Lock: l, Owner: owner, Waiter: waiter}}, ""
}

// Start asks for the previews.
func (d *Bulk) Start() tea.Cmd { return d.next() }

// bulkLimit bounds all previews together.
const bulkLimit = 3 * previewLimit

func (d *Bulk) requestPreviews() tea.Cmd {
	releasers, items, generation, known := d.releasers, d.items, d.generation, d.Snapshot()
	for _, item := range items {
		item.Request.Why, item.Request.TTL = d.template.Why, d.template.TTL
	}
	return d.Command(bulkLimit, func(ctx context.Context) tea.Msg {
		return bulkPreviewedMsg{generation, act.PreviewAll(ctx, releasers, known, items)}
	})
}

// previewed leaves out the locks whose release is already refused.
func (d *Bulk) previewed(err error) {
	d.err, d.phase = err, confirming
	d.items = slices.DeleteFunc(d.items, func(item *act.Item) bool {
		p := &item.Preview
		if p.Refused == "" {
			return false
		}
		d.left = append(d.left, item.Request.ID.String()+": "+cmp.Or(p.Detail, describe.Refusal(string(p.Refused))))
		return true
	})
	number := strconv.Itoa(len(d.items))
	d.confirm.word, d.confirm.accepts = number, func(typed string) bool { return typed == number }
	if err != nil || len(d.items) == 0 {
		d.phase = finished
	}
}

// send executes the next item.
func (d *Bulk) send() tea.Cmd {
	d.sent = true
	releasers, item, generation, at := d.releasers, *d.items[d.at], d.generation, d.at
	return d.Command(executeLimit+item.Request.Wait, func(ctx context.Context) tea.Msg {
		well := act.ExecuteItem(ctx, releasers, &item, "typed")
		return bulkDoneMsg{generation, at, item, well}
	})
}

// Update handles keys, pastes and answers of the dialog's generation.
func (d *Bulk) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case bulkPreviewedMsg:
		if msg.generation == d.generation && d.phase == previewing {
			d.previewed(msg.err)
		}
	case bulkDoneMsg:
		if msg.generation != d.generation || d.phase != executing || msg.at != d.at {
			break
		}
		*d.items[d.at] = msg.item
		if d.at++; msg.well && d.at < len(d.items) {
			return d.send(), false
		}
		d.phase = finished
	case screen.ArmedMsg:
		return d.armed(), false
	case tea.PasteMsg:
		d.confirm.pasted = d.phase == confirming
	case tea.KeyPressMsg:
		return d.press(msg)
	}
	return nil, false
}

// SetSize keeps the scroll position within the text.
func (d *Bulk) SetSize(width, height int) {
	if d.phase == confirming || d.phase == finished {
		lines, _, room := d.parts(min(width-4, widest), height)
		d.fit(lines, room)
	}
}

// View draws the dialog.
func (d *Bulk) View(width, height int) string {
	width = min(width-4, widest)
	t := d.Theme()
	lines := []widget.Line{{{d.words.title + "  ", t.Critical}, {d.counted(), t.Strong}}, nil}
	switch d.phase {
	case asking:
		lines = append(lines, d.promptLines(width)...)
	case previewing:
		lines = append(lines, widget.Line{{
			"Reading them again" + t.Glyphs.Ellipsis + " nothing is sent yet.", t.Muted,
		}})
	case executing:
		lines = append(lines, widget.Line{{
			fmt.Sprintf("%s%s %d of %d", d.words.doing, t.Glyphs.Ellipsis, d.at+1, len(d.items)), t.Warning,
		}})
	case confirming, finished:
		rows, tail, room := d.parts(width, height)
		lines = append(append(lines, d.scrolled(rows, room)...), tail...)
	}
	return widget.Box(t, lines, width, height, true)
}

// counted is the number of locks, and of contenders if it differs.
func (d *Bulk) counted() string {
	locks := map[inspect.ID]bool{}
	for _, item := range d.items {
		locks[item.Request.ID] = true
	}
	if len(locks) == len(d.items) {
		return describe.Count(len(locks), "lock")
	}
	return describe.Count(len(d.items), "contender") + " of " + describe.Count(len(locks), "lock")
}

// parts returns the lines that scroll in the given room, and the tail, which always fits with the
// title.
func (d *Bulk) parts(width, height int) (lines, tail []widget.Line, room int) {
	t := d.Theme()
	for _, item := range d.items {
		lines = append(lines, d.itemLines(item, width)...)
	}
	if len(d.left) > 0 {
		lines = append(lines, nil, widget.Line{{"left out:", t.Muted}})
		for _, why := range d.left {
			for i, part := range widget.Wrap(describe.Printable(why), width-4, 2, t.Glyphs.Ellipsis) {
				lines = append(lines, widget.Line{{"  "[:2*(1-min(i, 1))] + part, t.Muted}})
			}
		}
	}
	if d.phase == finished {
		tail = []widget.Line{nil, d.summary(), nil, {{"[ Close ]", t.Strong.Reverse()}}}
	} else {
		lines = append(append(lines, nil), d.bullets(width, d.notes()...)...)
		tail = append([]widget.Line{nil}, d.consentLines()...)
	}
	return lines, tail, max(2, height-4-len(tail))
}

// notes returns the warnings of all previews, each once.
func (d *Bulk) notes() []string {
	var notes []string
	for _, item := range d.items {
		for _, text := range slices.Concat(item.Preview.Others.Lines(), item.Preview.Warnings) {
			if !slices.Contains(notes, text) {
				notes = append(notes, text)
			}
		}
	}
	return notes
}

// itemLines show one lock: its holder and the next one or, after an attempt, the result.
func (d *Bulk) itemLines(item *act.Item, width int) []widget.Line {
	t, r := d.Theme(), &item.Result
	name := widget.Span{text.Middle(item.Request.ID.String(), width-2, t.Glyphs.Ellipsis), t.Strong}
	if item.Tried {
		mark, what := widget.Span{t.Glyphs.Holding + " ", t.Holding}, "done; no holder now"
		switch {
		case item.Err != nil:
			mark, what = widget.Span{t.Glyphs.Critical + " ", t.Critical}, describe.OneLine(item.Err)
		case r.Unknown:
			mark, what = widget.Span{t.Glyphs.Unknown + " ", t.Unknown}, "unknown whether it was done"
		case !r.Done():
			mark, what = widget.Span{t.Glyphs.Warning + " ", t.Warning}, cmp.Or(r.Detail,
				describe.Refusal(string(r.Reason)))
		case len(r.HoldersAfter) > 0:
			what = "done; now held by " + describe.Owner(&r.HoldersAfter[0])
		}
		lines := []widget.Line{{mark, name}}
		for _, part := range widget.Wrap(describe.Printable(what), width-4, 3, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{"    " + part, t.Text}})
		}
		return lines
	}
	who, next, style := "no holder", item.Preview.NoNext(), t.Holding
	if seen := item.Preview.Seen; seen != nil {
		if who = describe.Owner(seen); seen.State != inspect.Holding {
			next, style = "does not hold the lock", t.Waiting
		}
	}
	if n := item.Preview.Next; n != nil {
		next = "then " + describe.Owner(n)
	}
	line := widget.Line{
		{"    ", t.Text},
		{screen.Short(d, who, 40), style},
		{"  " + screen.Short(d, next, max(8, width-6-min(40, widget.TextWidth(who)))), t.Muted},
	}
	return []widget.Line{{{t.Glyphs.Dot + " ", t.Muted}, name}, line}
}

// summary counts the successful actions, or says why there were none.
func (d *Bulk) summary() widget.Line {
	t := d.Theme()
	done := 0
	for _, item := range d.items {
		if item.Tried && item.Err == nil && item.Result.Done() {
			done++
		}
	}
	switch {
	case d.err != nil && !d.sent:
		return widget.Line{{t.Glyphs.Critical + " Nothing was sent: " + describe.OneLine(d.err), t.Critical}}
	case len(d.items) == 0:
		return widget.Line{{t.Glyphs.Warning + " None of them can be done: nothing was sent.", t.Warning}}
	case done == len(d.items):
		return widget.Line{{fmt.Sprintf("%s %d of %d done.", t.Glyphs.Holding, done, len(d.items)), t.Holding}}
	default:
		return widget.Line{{
			fmt.Sprintf("%s %d of %d done: stopped at the first that differed from its preview.", t.Glyphs.Warning, done,
				len(d.items)),
			t.Warning,
		}}
	}
}
