package backends

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// details describe the selected server and then its backend.
func (s *Screen) details(width int) []widget.Line {
	r, ok := s.Row()
	if !ok {
		return nil
	}
	d := backendFacts{Screen: s, width: width}
	if r.Server != nil {
		d.server(r.backend, r.Server)
	}
	d.backend(r.backend)
	return d.lines
}

type backendFacts struct {
	*Screen
	width int
	lines []widget.Line
}

// names is the width of the facts' names, in cells.
const names = 13

// fact adds a name and its text, wrapped.
func (d *backendFacts) fact(name, text string, style theme.Style) {
	if text == "" {
		return
	}
	t := d.Theme()
	for _, part := range widget.Wrap(text, d.width-names-5, 12, t.Glyphs.Ellipsis) {
		d.lines = append(d.lines, widget.Line{
			{"   " + name + strings.Repeat(" ", max(1, names-len(name))), t.Muted}, {part, style},
		})
		name = ""
	}
}

func (d *backendFacts) head(mark widget.Span, text, about string) {
	if len(d.lines) > 0 {
		d.lines = append(d.lines, nil)
	}
	l := widget.Line{{" " + mark.Text + " ", mark.Style}, {text, d.Theme().Strong}, {"  ", d.Theme().Muted}}
	for _, part := range widget.Wrap(about, d.width-l.Width()-1, 3, d.Theme().Glyphs.Ellipsis) {
		d.lines = append(d.lines, l.Add(d.Theme().Muted, part))
		l = widget.Line{{widget.Blanks(l.Width()), d.Theme().Text}}
	}
}

// nearLimit is the fraction of a limit at which a bar warns.
const nearLimit = 0.9

// gauge adds a bar for the used fraction of a limit.
func (d *backendFacts) gauge(name string, used, limit float64, text string) {
	t := d.Theme()
	full, rest := t.Gauge(used/max(1, limit), 16)
	style, mark := t.Holding, ""
	switch {
	case used > limit:
		style, mark = t.Warning, t.Glyphs.Warning+" "
	case used >= nearLimit*limit:
		style, mark, text = t.Warning, t.Glyphs.Warning+" ", text+", nearly all"
	}
	d.lines = append(d.lines, widget.Line{
		{"   " + name + strings.Repeat(" ", max(1, names-len(name))), t.Muted},
		{full, style},
		{rest, t.Faint},
		{"  " + mark, style},
		{text, t.Text},
	})
}

// trend adds a backend's recent values of a number, and their maximum; nothing without history.
func (d *backendFacts) trend(
	name string, b *inspect.Backend, of func(*inspect.Backend) float64, words func(most float64) string,
) {
	t, values := d.Theme(), d.BackendTrend(b.Name, of)
	most := slices.Max(values)
	known := slices.IndexFunc(values, func(v float64) bool { return v >= 0 })
	if most <= 0 || known == len(values)-1 {
		return
	}
	sparks := strings.Repeat(" ", known) + t.Sparks(values[known:], most)
	d.lines = append(d.lines, widget.Line{
		{"   " + name + strings.Repeat(" ", max(1, names-len(name))), t.Muted},
		{sparks, t.Waiting},
		{"  max " + words(most) + ", " + describe.Limit(screen.TrendStep) + " average", t.Muted},
	})
}

func (d *backendFacts) server(b *inspect.Backend, v *inspect.Server) {
	t := d.Theme()
	d.head(serverSign(t, v), describe.Printable(v.Addr), describe.Printable(v.Role))
	d.state(v)
	d.fact("version", describe.Printable(v.Version), t.Text)
	if lags(v) {
		d.fact("behind", t.Glyphs.Warning+" its leader by over "+describe.Over(v.Lag), t.Warning)
	}
	if v.Latency >= 0 && v.State == inspect.ServerUp {
		d.fact("latency", describe.Millis(v.Latency)+" now", t.Text)
		d.trend("  last 15m", b, func(b *inspect.Backend) float64 {
			i := slices.IndexFunc(b.Servers, func(s inspect.Server) bool {
				return s.Addr == v.Addr && s.State == inspect.ServerUp
			})
			if i < 0 {
				return -1
			}
			return b.Servers[i].Latency.Seconds()
		}, func(most float64) string { return describe.Millis(time.Duration(most * float64(time.Second))) })
	}
	if v.ClockKnown {
		d.fact("clock", clockMark(t, v.ClockOffset)+offsetWords(v.ClockOffset)+" from ours",
			clockStyle(t, v.ClockOffset))
	} else {
		d.fact("clock", "offset unknown", t.Unknown)
	}
	switch started := v.StartedAt; {
	case !started.IsZero():
		ago := describe.Seconds(d.Now().Sub(started))
		d.fact("started", ago+" ago, "+started.UTC().Format("2006-01-02 15:04:05 UTC"), t.Text)
	case v.State == inspect.ServerUp:
		d.fact("started", "unknown: "+startSource(b.Kind), t.Unknown)
	}
	if b.Kind == inspect.Redis {
		d.redis(v)
	}
}

func (d *backendFacts) state(v *inspect.Server) {
	t, cause := d.Theme(), describe.Cause(v.Error, v.Addr)
	switch v.State {
	case inspect.ServerDown:
		d.fact("down", cmp.Or(cause, "no reason was given"), t.Critical)
	case inspect.ServerUnknown:
		d.fact("unknown", cmp.Or(cause, "not asked yet, or it does not say"), t.Unknown)
	default:
		d.fact("error", cause, t.Warning)
	}
	if v.Role == "" && v.State == inspect.ServerUp {
		d.fact("role", "unknown: the server does not report it, or is part of a cluster", t.Unknown)
	}
}

func (d *backendFacts) redis(v *inspect.Server) {
	t := d.Theme()
	d.fact("run id", describe.Printable(v.RunID), t.Muted)
	if v.EvictionPolicy != "" {
		d.memory(v)
	}
	switch {
	case v.RunID == "" && v.Persistence == "":
		d.fact("restart", "unknown: it did not report what it keeps across a restart", t.Unknown)
	case v.Persistence == "aof":
		d.fact("restart", "writes an append-only file: locks survive a crash, except the most recent",
			t.Text)
	case v.Persistence == "rdb":
		d.fact("restart", "writes snapshots: a lock taken since the last one is gone after a crash", t.Text)
	default:
		d.fact("restart",
			"no snapshot and no append-only file was seen: after a restart it may have forgotten all locks", t.Unknown)
	}
}

// startSource names the source of a server's start time.
func startSource(kind inspect.BackendKind) string {
	if kind == inspect.Redis {
		return "INFO, which has it, was denied or not answered"
	}
	return "its AdminServer has it (admin=http://HOST:8080 in the target), and so has mntr, if it is in 4lw.commands.whitelist"
}

func (d *backendFacts) memory(v *inspect.Server) {
	t, policy := d.Theme(), describe.Printable(v.EvictionPolicy)
	switch {
	case v.MaxMemory == 0:
		d.fact("memory", "not limited ("+policy+")", t.Text)
	case policy == "noeviction":
		d.fact("memory", fmt.Sprintf("at most %d MiB; when it is full, writes fail (%s)", v.MaxMemory>>20, policy),
			t.Text)
	default:
		d.fact("memory",
			fmt.Sprintf("at most %d MiB; when it is full, it deletes keys, including held locks (%s)", v.MaxMemory>>20,
				policy), t.Warning)
	}
}

func (d *backendFacts) backend(b *inspect.Backend) {
	t := d.Theme()
	mark := screen.BackendSign(t, b.State)
	up := 0
	for i := range b.Servers {
		if b.Servers[i].State == inspect.ServerUp {
			up++
		}
	}
	d.head(mark, describe.Printable(b.Name),
		fmt.Sprintf("%s, %s: %d of %s up", b.Kind, b.State, up, describe.Count(len(b.Servers), "server")))
	for _, text := range describe.Errors(b) {
		d.fact("error", text, mark.Style)
	}
	if target := b.Reach.Target; target != "" {
		words := describe.Printable(target)
		if numbered.MatchString(b.Name) {
			words += " (?name=NAME gives it its own name)"
		}
		d.fact("target", words, t.Text)
	}
	mode, means := modeWords(b.Mode)
	d.fact("changes", mode+": "+means, t.Text)
	d.fact("reading", describe.Printable(b.Reading), t.Text)
	d.fact("discovery", d.discovery(b), t.Text)
	if b.Kind == inspect.ZooKeeper {
		if sessions := d.Snapshot().Sessions(b.Name); sessions != nil {
			d.fact("sessions",
				fmt.Sprintf("%s reported by the servers", describe.Count(len(sessions), "client session")), t.Text)
		} else {
			d.fact("sessions", "unknown: no server reported its clients", t.Unknown)
		}
	}
	if b.Lost > 0 {
		d.fact("lost",
			"a server stopped answering "+strings.Replace(describe.Count(b.Lost, "time"), "1 time", "once",
				1)+" since watching began", t.Warning)
	}
	d.cost(b)
	d.findings(b)
}

// numbered are the default names of further backends of a kind.
var numbered = regexp.MustCompile(`^(zk|redis)[0-9]+$`)

// modeWords says in a word, and in a sentence, how changes are noticed.
func modeWords(m inspect.Mode) (word, means string) {
	switch m {
	case inspect.ModeWatch:
		return "watched", "the servers report changes as they happen"
	case inspect.ModePush:
		return "pushed", "the masters report changed keys as they happen"
	case inspect.ModePoll:
		return "polled", "known keys are read repeatedly, and what happens in between is not seen"
	default:
		return "none", "it is read once"
	}
}

func (d *backendFacts) discovery(b *inspect.Backend) string {
	known := strings.Replace(describe.Count(b.Scanned, "directory"), "ys", "ies", 1)
	if b.Kind == inspect.Redis {
		known = describe.Count(b.Scanned, "key")
	}
	switch {
	case b.FirstPass:
		return fmt.Sprintf("initial scan complete; %s known", known)
	case b.State == inspect.Down:
		return fmt.Sprintf("initial scan not finished: it cannot be reached; %s so far", known)
	default:
		return fmt.Sprintf("initial scan under way; %s so far", known)
	}
}

func (d *backendFacts) cost(b *inspect.Backend) {
	t, c := d.Theme(), b.Cost
	rate, all := describe.Load(c), describe.Thousands(int(c.Requests))+" total"
	if limit := c.Limit; limit > 0 {
		if c.Slowed {
			limit /= 2
		}
		d.gauge("our requests", rate, limit,
			fmt.Sprintf("%s of %s allowed, %s", describe.PerSecond(rate), describe.PerSecond(limit), all))
	} else {
		d.fact("our requests", describe.PerSecond(rate)+", "+all, t.Text)
	}
	d.trend("  last 15m", b, func(b *inspect.Backend) float64 { return describe.Load(b.Cost) }, describe.PerSecond)
	if c.ItemLimit > 0 {
		items, bytes := c.ItemLimit, c.ByteLimit
		if c.Slowed {
			items, bytes = items/2, bytes/2
		}
		d.gauge("our reads", c.ItemsPerSecond, items,
			fmt.Sprintf("%s/s of %s/s allowed, %s total", describe.Thousands(int(c.ItemsPerSecond+0.5)),
				describe.Thousands(int(items)), describe.Thousands(int(c.Items))))
		d.gauge("answers", c.BytesPerSecond, bytes,
			fmt.Sprintf("%.1f MiB/s of %.1f MiB/s allowed", c.BytesPerSecond/(1<<20), bytes/(1<<20)))
	}
	if c.Quickest > 0 {
		d.fact("fastest read", fmt.Sprintf("%s; above %s we halve our rate",
			describe.Millis(c.Quickest), describe.Millis(3*c.StartQuickest)), t.Text)
	}
	if c.Duty > 0 {
		d.fact("our scans", fmt.Sprintf("take at most %.0f%% of a master's time", c.Duty*100), t.Text)
	}
	if c.Slowed {
		d.fact("slowed", "replies take over 3x as long as the first ones, so we halved our rate", t.Warning)
	}
}

// findingsShown limits a backend's findings, since each takes several lines.
const findingsShown = 100

func (d *backendFacts) findings(b *inspect.Backend) {
	t, tail := d.Theme(), d.Theme().Glyphs.Ellipsis
	found := slices.Clone(b.Findings)
	slices.SortStableFunc(found, describe.WorstFirst)
	rest := max(0, len(found)-findingsShown)
	for _, f := range found[:len(found)-rest] {
		mark := screen.FindingSign(t, &f)
		d.lines = append(d.lines, nil)
		lead := widget.Line{{" " + mark.Text + " " + screen.RuleName(&f) + "  ", mark.Style}}
		for _, text := range widget.Wrap(screen.Say(d.Theme(), f.Message), d.width-lead.Width()-1, 12, tail) {
			d.lines = append(d.lines, append(lead[:len(lead):len(lead)], widget.Span{text, t.Text}))
			lead = widget.Line{{strings.Repeat(" ", lead.Width()), t.Text}}
		}
		if len(f.Steps) == 0 {
			continue
		}
		for _, text := range widget.Wrap(screen.Say(d.Theme(), f.Advice()), d.width-6, 12, tail) {
			d.lines = append(d.lines, widget.Line{{"     " + text, t.Muted}})
		}
	}
	if rest > 0 {
		d.lines = append(d.lines, nil, widget.Line{{
			fmt.Sprintf("   and %s", describe.Count(rest, "more finding")), t.Muted,
		}})
	}
}
