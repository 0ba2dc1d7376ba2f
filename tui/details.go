package tui

import (
	"fmt"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// details is a strip with what is known of the selected row.
func (p *chainPane) details(l *inspect.Lock) []line {
	if p.cursor >= len(p.rows) || p.height < 14 {
		return nil
	}
	lines := []line{p.section("selected")}
	r := p.rows[p.cursor]
	if r.vote != nil {
		return append(lines, p.voteDetails(l, r.vote)...)
	}
	if r.group != nil {
		return append(lines, p.groupDetails(l, r.group)...)
	}
	return append(lines, p.contenderDetails(l, r.contender)...)
}

// facts puts the parts that are not empty in a row, or in more where they do not fit into one.
func (p *chainPane) facts(lead span, parts ...string) []line {
	return facts(p.Theme(), p.width, lead, parts...)
}

func (p *chainPane) contenderDetails(l *inspect.Lock, c *inspect.Contender) []line {
	t, o := p.Theme(), &c.Owner
	s, word := contenderSign(t, c)
	lines := p.facts(span{s.text + " ", s.style}, append([]string{describe.Owner(c), word}, p.times(l, c)...)...)
	if c.Dead {
		lines = append(lines, line{{"   nothing keeps its entry alive: its client is most likely gone", t.Critical}})
	}
	known := p.facts(span{}, named("client", describe.Printable(o.Client)), named("via", describe.Printable(o.Server)), named("host", o.Host.String()),
		named("pid", o.PID.String()), named("thread", o.Thread.String()), named("instance", o.LibraryID.String()))
	if o.Session == 0 && known[0].text() == "   " {
		known = p.facts(span{"who is behind it is not known", t.Unknown})
	}
	lines = append(lines, known...)
	if o.Session != 0 {
		lines = append(lines, p.sessionFacts(l, c)...)
	}
	if c.Watch == inspect.Missing {
		lines = append(lines, line{{"   " + t.Glyphs.WatchMissing + " it does not watch ", t.Critical}, {c.Watches.String(), t.Text}})
	}
	return append(lines, p.long("name ", c.Name.String())...)
}

// times say since when a contender is in the queue and holds, and how long its entry lasts.
func (p *chainPane) times(l *inspect.Lock, c *inspect.Contender) []string {
	var words []string
	since, known := p.Snapshot().Age(l, c.Since, p.Now())
	held := agesOf(p).Held(l, c)
	switch {
	case c.State != inspect.Holding && known:
		words = append(words, "in the queue for "+describe.Age(since))
	case c.State != inspect.Holding:
	case held.Known == describe.Exactly && known && since-held.Duration >= describe.Near:
		words = append(words, "held"+held.String(), "in the queue for "+describe.Age(since))
	default:
		words = append(words, "held"+held.String())
	}
	if !c.ExpiresAt.IsZero() && c.ExpiresAt.After(p.Now()) {
		words = append(words, "expires in "+describe.Age(c.ExpiresAt.Sub(p.Now())))
	}
	return words
}

// long is text of any length behind a name.
func (p *chainPane) long(name, text string) []line {
	t := p.Theme()
	var lines []line
	for _, part := range wrap(text, p.width-4-len(name), 3, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{"   " + name, t.Muted}, {part, t.Text}})
		name = strings.Repeat(" ", len(name))
	}
	return lines
}

// sessionFacts say whether a contender's session is alive.
func (p *chainPane) sessionFacts(l *inspect.Lock, c *inspect.Contender) []line {
	t := p.Theme()
	s, ok := p.Snapshot().Session(l, c)
	limit := max(c.Owner.SessionTimeout, s.Timeout)
	timeout, established := "", ""
	if limit > 0 {
		timeout = "timeout " + describe.Age(limit)
	}
	contact := contactWords(p.Now().Sub(s.LastContact), ok && !s.LastContact.IsZero(), limit)
	if d, known := p.Snapshot().Age(l, s.Established, p.Now()); ok && known {
		established = "established " + describe.Age(d) + " ago"
	}
	return p.facts(span{"session ", t.Muted}, inspect.SessionID(c.Owner.Session), timeout, contact, established)
}

// contactWords say when a session's server last heard of its client. That is as of a reading which grows old: past the
// session's timeout it does not say that the client is gone, and nothing is said.
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

func (p *chainPane) voteDetails(l *inspect.Lock, v *inspect.Vote) []line {
	t := p.Theme()
	mark, _, _ := p.voteCells(l, v, 0)
	first := p.facts(span{mark.text() + " ", mark[0].style}, describe.Printable(v.Addr))
	if s := p.server(l, v.Addr); s != nil && v.Up {
		latency := ""
		if s.Latency >= 0 {
			latency = fmt.Sprintf("answers in %.1f ms", float64(s.Latency.Microseconds())/1000)
		}
		offset := "clock unknown"
		if s.ClockKnown {
			offset = fmt.Sprintf("clock %+d ms", s.ClockOffset.Milliseconds())
		}
		first = p.facts(span{mark.text() + " ", mark[0].style}, describe.Printable(v.Addr), describe.Printable(s.Role), latency, offset)
	}
	lines := first
	switch {
	case !v.Up:
		return append(lines, p.long("", silence(v))...)
	case v.Present:
		lines = append(lines, p.long("value ", v.Value.String())...)
		if v.Digest != "" {
			lines = append(lines, p.long("whole ", describe.Printable(v.Digest))...)
		}
	default:
		lines = append(lines, line{{"   the key is absent here", t.Muted}})
	}
	if len(l.Holders) == 1 {
		o := &l.Holders[0].Owner
		holder := p.facts(span{}, named("holder", o.Label.String()), named("host", o.Host.String()), named("pid", o.PID.String()),
			named("client", describe.Printable(o.Client)), named("instance", o.LibraryID.String()), named("thread", o.Thread.String()))
		if holder[0].text() != "   " {
			lines = append(lines, holder...)
		}
	}
	return lines
}
