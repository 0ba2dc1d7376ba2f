package chain

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// details describe the selected row, after a blank line.
func (p *Pane) details(l *inspect.Lock) []widget.Line {
	if p.list.At >= len(p.rows) || p.height < 14 {
		return nil
	}
	lines := []widget.Line{nil, p.section(p.followed())}
	r := p.rows[p.list.At]
	if r.gone {
		return append(lines, p.facts(widget.Span{}, describe.Owner(r.contender), leftWords)...)
	}
	if r.vote != nil {
		return append(lines, p.voteDetails(l, r.vote)...)
	}
	if r.group != nil {
		return append(lines, p.groupDetails(l, r.group)...)
	}
	return append(lines, p.contenderDetails(l, r.contender)...)
}

// facts puts the parts that are not empty in one row, or in several if they do not fit.
func (p *Pane) facts(lead widget.Span, parts ...string) []widget.Line {
	return widget.Facts(p.Theme(), p.width, lead, parts...)
}

func (p *Pane) contenderDetails(l *inspect.Lock, c *inspect.Contender) []widget.Line {
	t, o := p.Theme(), &c.Owner
	s, word := screen.ContenderSign(t, c)
	lines := p.facts(widget.Span{s.Text + " ", s.Style}, append([]string{describe.Owner(c), word}, p.times(l, c)...)...)
	if c.Dead {
		lines = append(lines, widget.Line{{
			"   nothing keeps its entry alive: its client is most likely gone", t.Critical,
		}})
	}
	known := p.facts(widget.Span{}, widget.Named("client", describe.Printable(o.Client)),
		widget.Named("via", describe.Printable(o.Server)), widget.Named(describe.Host(o), o.Host.String()),
		widget.Named("named", screen.Ages(p).HostName(o)),
		widget.Named("pid", o.PID.String()), widget.Named("thread", o.Thread.String()),
		widget.Named("instance", o.LibraryID.String()))
	if o.Session == 0 && known[0].Text() == "   " {
		known = p.facts(widget.Span{"client unknown", t.Unknown})
	}
	lines = append(lines, known...)
	if o.Session != 0 {
		lines = append(lines, p.sessionFacts(l, c)...)
	}
	if o.Client == "" {
		lines = append(lines, p.possible(l, c)...)
	}
	if c.Watch == inspect.Missing {
		lines = append(lines, widget.Line{
			{"   " + t.Glyphs.WatchMissing + " it does not watch ", t.Critical}, {c.Watches.String(), t.Text},
		})
	}
	return append(lines, p.long("name ", c.Name.String())...)
}

// possible lists the connections that may be a contender's, if they were requested.
func (p *Pane) possible(l *inspect.Lock, c *inspect.Contender) []widget.Line {
	var lines []widget.Line
	for _, text := range screen.PossibleWords(p.Context, l, c) {
		lines = append(lines, p.long("", text)...)
	}
	return lines
}

// times returns a contender's arrival and grant, and the expiry of its entry.
func (p *Pane) times(l *inspect.Lock, c *inspect.Contender) []string {
	var words []string
	since, known := p.ages(l).Since(l, c)
	queued := "in the queue for " + describe.Signed(since)
	held := p.ages(l).Held(l, c)
	switch {
	case c.State != inspect.Holding && known:
		words = append(words, queued)
	case c.State != inspect.Holding:
	case held.Known == describe.Exactly && known && since.Duration-held.Duration >= describe.Near:
		words = append(words, p.Theme().Glyphs.Translate("held"+held.String()), queued)
	default:
		words = append(words, p.Theme().Glyphs.Translate("held"+held.String()))
	}
	if !c.ExpiresAt.IsZero() && c.ExpiresAt.After(p.Now()) {
		words = append(words, "expires in "+describe.Age(c.ExpiresAt.Sub(p.Now())))
	}
	if c.State == inspect.Holding {
		words = append(words, describe.Renewal(p.Snapshot().History(l.ID), p.Now()))
	}
	return words
}

// long wraps text of any length after a name.
func (p *Pane) long(name, text string) []widget.Line {
	t := p.Theme()
	var lines []widget.Line
	for _, part := range widget.Wrap(text, p.width-4-len(name), 3, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{"   " + name, t.Muted}, {part, t.Text}})
		name = strings.Repeat(" ", len(name))
	}
	return lines
}

// sessionFacts returns a contender's session's last contact and expiry.
func (p *Pane) sessionFacts(l *inspect.Lock, c *inspect.Contender) []widget.Line {
	t := p.Theme()
	s, ok := p.Snapshot().Session(l, c)
	limit := max(c.Owner.SessionTimeout, s.Timeout)
	timeout, established := "", ""
	if limit > 0 {
		timeout = "timeout " + describe.Age(limit)
	}
	contact := contactWords(p.Now().Sub(s.LastContact), ok && !s.LastContact.IsZero(), limit)
	if d, known := p.Snapshot().Established(l, s, p.Now()); ok && known {
		established = "established " + describe.Signed(d) + " ago"
	}
	return p.facts(widget.Span{"session ", t.Muted}, inspect.SessionID(c.Owner.Session), timeout, contact, established)
}

// contactWords formats the time since the session's last contact, as its server counts it. The
// reading itself ages: past the session's timeout it no longer proves that the client is gone, so
// the words are empty.
func contactWords(d time.Duration, known bool, timeout time.Duration) string {
	switch {
	case !known:
		return "last contact unknown"
	case d < timeout:
		return "last contact " + describe.Age(d) + " ago"
	default:
		return ""
	}
}

func (p *Pane) voteDetails(l *inspect.Lock, v *inspect.Vote) []widget.Line {
	t := p.Theme()
	mark, _, _ := p.voteCells(l, v, 0)
	first := p.facts(widget.Span{mark.Text() + " ", mark[0].Style}, describe.Printable(v.Addr))
	if s := serverOf(p.Snapshot(), l, v.Addr); s != nil && v.Up {
		latency := ""
		if s.Latency >= 0 {
			latency = fmt.Sprintf("latency %.1f ms", float64(s.Latency.Microseconds())/1000)
		}
		offset := "clock unknown"
		if s.ClockKnown {
			offset = fmt.Sprintf("clock %+d ms", s.ClockOffset.Milliseconds())
		}
		first = p.facts(widget.Span{mark.Text() + " ", mark[0].Style}, describe.Printable(v.Addr),
			describe.Printable(s.Role), latency, offset)
	}
	lines := first
	switch {
	case !v.Up:
		return append(lines, p.long("", noAnswer(v))...)
	case v.Present:
		lines = append(lines, p.long("value ", v.Value.String())...)
		if v.Digest != "" {
			lines = append(lines, p.long("whole ", describe.Printable(v.Digest))...)
		}
	default:
		lines = append(lines, widget.Line{{"   the key is absent here", t.Muted}})
	}
	if len(l.Holders) == 1 {
		o := &l.Holders[0].Owner
		holder := p.facts(widget.Span{}, widget.Named("holder", o.Label.String()),
			widget.Named(describe.Host(o), o.Host.String()), widget.Named("pid", o.PID.String()),
			widget.Named("client", describe.Printable(o.Client)), widget.Named("instance", o.LibraryID.String()),
			widget.Named("thread", o.Thread.String()))
		if holder[0].Text() != "   " {
			lines = append(lines, holder...)
		}
		if o.Client == "" {
			lines = append(lines, p.possible(l, &l.Holders[0])...)
		}
	}
	if words := describe.Renewal(p.Snapshot().History(l.ID), p.Now()); words != "" {
		lines = append(lines, p.facts(widget.Span{}, words)...)
	}
	return lines
}
