package tui

import (
	"fmt"
	"strings"
	"time"

	"lockscope/inspect"
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
	return append(lines, p.contenderDetails(l, r.contender)...)
}

// facts puts the parts that are not empty in a row.
func (p *chainPane) facts(lead span, parts ...string) line {
	t := p.theme
	var known []string
	for _, part := range parts {
		if part != "" {
			known = append(known, part)
		}
	}
	return line{{"   ", t.Text}, lead, {strings.Join(known, " "+t.Glyphs.Dot+" "), t.Text}}
}

// named is "name text", or empty when there is no text.
func named(name, text string) string {
	if text == "" {
		return ""
	}
	return name + " " + text
}

func (p *chainPane) contenderDetails(l *inspect.Lock, c *inspect.Contender) []line {
	t, o := p.theme, &c.Owner
	s, word := contenderSign(t, c)
	since := ""
	if d, ok := p.snapshot.Age(l, c.Since, p.now); ok {
		since = "in the queue for " + age(d)
	}
	held := ""
	if c.State == inspect.Holding {
		held = "held since before we looked"
		if d, ok := p.snapshot.Age(l, c.HeldSince, p.now); ok {
			held = "held for " + age(d)
		}
	}
	lines := []line{
		p.facts(span{s.text + " ", s.style}, who(c), word, held, since),
		p.facts(span{"", t.Text}, named("client", printed(o.Client)), named("via", printed(o.Server)), named("host", o.Host.String()),
			named("pid", o.PID.String()), named("thread", o.Thread.String()), named("instance", o.LibraryID.String())),
	}
	if o.Session != 0 {
		lines = append(lines, p.sessionFacts(l, c))
	} else if o.Client == "" && o.Host == "" {
		lines[1] = p.facts(span{"who is behind it is not known", t.Unknown})
	}
	if c.Watch == inspect.Missing {
		lines = append(lines, line{{"   " + t.Glyphs.WatchMissing + " it does not watch ", t.Critical}, {c.Watches.String(), t.Text}})
	}
	return append(lines, line{{"   name ", t.Muted}, {c.Name.String(), t.Text}})
}

// sessionFacts say whether a contender's session is alive.
func (p *chainPane) sessionFacts(l *inspect.Lock, c *inspect.Contender) line {
	t := p.theme
	s, ok := p.snapshot.Session(l, c)
	limit := max(c.Owner.SessionTimeout, s.Timeout)
	timeout, established := "", ""
	if limit > 0 {
		timeout = "timeout " + age(limit)
	}
	d, known := p.snapshot.Age(l, s.LastContact, p.now)
	contact := contactWords(d, known && ok, limit)
	if d, known := p.snapshot.Age(l, s.Established, p.now); ok && known {
		established = "established " + age(d) + " ago"
	}
	return p.facts(span{"session ", t.Muted}, session(c.Owner.Session), timeout, contact, established)
}

// contactWords say when a session's server last heard of its client. That is as of a reading which grows old: past the
// session's timeout it does not say that the client is gone, and nothing is said.
func contactWords(d time.Duration, known bool, timeout time.Duration) string {
	switch {
	case !known:
		return "last contact unknown"
	case d < timeout:
		return "last contact " + age(d) + " ago"
	default:
		return ""
	}
}

func (p *chainPane) voteDetails(l *inspect.Lock, v *inspect.Vote) []line {
	t := p.theme
	mark, _, _ := p.voteCells(l, v, 0)
	first := p.facts(span{mark.text() + " ", mark[0].style}, printed(v.Addr))
	if s := p.server(l, v.Addr); s != nil && v.Up {
		latency := ""
		if s.Latency >= 0 {
			latency = fmt.Sprintf("answers in %.1f ms", float64(s.Latency.Microseconds())/1000)
		}
		offset := "clock unknown"
		if s.ClockKnown {
			offset = fmt.Sprintf("clock %+d ms", s.ClockOffset.Milliseconds())
		}
		first = p.facts(span{mark.text() + " ", mark[0].style}, printed(v.Addr), printed(s.Role), latency, offset)
	}
	lines := []line{first}
	switch {
	case !v.Up:
		return append(lines, line{{"   " + silence(v), t.Unknown}})
	case v.Present:
		lines = append(lines, line{{"   value ", t.Muted}, {v.Value.String(), t.Text}})
		if v.Digest != "" {
			lines = append(lines, line{{"   whole ", t.Muted}, {printed(v.Digest), t.Text}})
		}
	default:
		lines = append(lines, line{{"   the key is absent here", t.Muted}})
	}
	if len(l.Holders) == 1 {
		o := &l.Holders[0].Owner
		lines = append(lines, p.facts(span{"", t.Text}, named("holder", o.Label.String()), named("host", o.Host.String()),
			named("client", printed(o.Client)), named("instance", o.LibraryID.String()), named("thread", o.Thread.String())))
	}
	return lines
}
