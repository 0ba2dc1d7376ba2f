package clients

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// details are a client's counts and owner, then facts that change often, such as signs of death.
func (s *Screen) details(r *clientRow, width int) []widget.Line {
	t, o := s.Theme(), &r.owner
	mark := s.clientSign(r)
	lines := widget.Facts(s.Theme(), width, widget.Span{mark.Text + " ", mark.Style}, r.Name,
		fmt.Sprintf("holds %d", r.holds), fmt.Sprintf("waits for %d", r.waits), fmt.Sprintf("blocks %d", r.blocks))
	if len(r.labels) > 1 {
		owners := strings.Join(each.Of(r.labels, func(label string) string { return screen.Short(s, label, 24) }), ", ")
		for i, part := range widget.Wrap(owners, width-4-len("owners "), 2, t.Glyphs.Ellipsis) {
			lead := []string{"   owners ", "          "}[i]
			lines = append(lines, widget.Line{{lead, t.Muted}, {part, t.Text}})
		}
	}
	known := widget.Facts(s.Theme(), width, widget.Span{}, widget.Named("client", describe.Printable(o.Client)),
		widget.Named("via", describe.Printable(o.Server)), widget.Named(describe.Host(o), o.Host.String()),
		widget.Named("pid", o.PID.String()), widget.Named("thread", o.Thread.String()),
		widget.Named("instance", o.LibraryID.String()))
	if known[0].Text() != "   " {
		lines = append(lines, known...)
	}
	if o.Session != 0 {
		lines = append(lines, s.sessionFacts(r, width)...)
	}
	if r.inCycle {
		lines = append(lines, widget.Line{{"   " + t.Glyphs.Critical + " it is in a deadlock: w draws it", t.Critical}})
	}
	if r.dead {
		lines = append(lines, widget.Line{{
			"   " + t.Glyphs.Warning + " its client is most likely gone; the lock's chain has the finding", t.Warning,
		}})
	}
	if r.through > 0 {
		lines = append(lines, widget.Line{{
			"   blocks " + describe.Count(r.through, "contender") + " indirectly, via other clients' locks", t.Muted,
		}})
	}
	if o.Session == 0 {
		lines = append(lines, s.possible(r, width)...)
	}
	return lines
}

// sessionFacts are the last contact and expiry of a client's session.
func (s *Screen) sessionFacts(r *clientRow, width int) []widget.Line {
	t, o := s.Theme(), &r.owner
	timeout, contact, expires, since := "timeout unknown", "last contact unknown", "", ""
	if d := r.timeout(); d > 0 {
		timeout = "timeout " + describe.Seconds(d)
	}
	if d, ok := s.silence(r); ok {
		contact = "last contact " + describe.Seconds(d) + " ago"
	}
	if d, ok := s.expiresIn(r); ok {
		expires = "expires in " + s.Theme().Glyphs.AtLeast + describe.Seconds(d)
	}
	if r.idle() {
		timeout, contact = "", ""
	} else if d, ok := s.Snapshot().Established(r.entries[0].Lock, r.session, s.Now()); ok && r.known {
		since = "established " + describe.SignOf(d) + describe.Seconds(d.Duration) + " ago"
	}
	return widget.Facts(t, width, widget.Span{"session ", t.Muted}, inspect.SessionID(o.Session), timeout, contact,
		expires, since)
}

// possible lists the connections that may belong to a Redis client without a known connection.
func (s *Screen) possible(r *clientRow, width int) (lines []widget.Line) {
	if r.owner.Client != "" || r.idle() {
		return nil
	}
	for _, text := range screen.PossibleWords(s, r.entries[0].Lock, r.entries[0].Contender) {
		for _, part := range widget.Wrap(text, width-4, 2, s.Theme().Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{"   " + part, s.Theme().Text}})
		}
	}
	return lines
}

// wantPossible asks which connections may be the selected client's, if none is known.
func (s *Screen) wantPossible() {
	if r := s.Row(); r != nil && !s.hidden && r.owner.Client == "" && len(r.entries) > 0 {
		s.WantPossible(r.entries[0].Lock)
	}
}
