package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/screen"
)

// wrong lists all findings, and what could not be seen.
func (l *linear) wrong(string) {
	found := diagnose(l.snapshot)
	l.line("%s.", tally(l.counts()))
	for i, c := range found {
		muted := ""
		if c.Muted != nil {
			muted = ", muted until " + describe.When(c.Muted.Until, l.snapshot.TakenAt.Local())
		}
		l.line("%d of %d: %s, %s%s, on %s: %s.", i+1, len(found), c.Severity, c.Rule, muted, enumerate(c.on), describe.Printable(c.Message))
		l.todo(c.Finding)
	}
}

func (l *linear) todo(f inspect.Finding) {
	if f.Advice == "" {
		return
	}
	l.line("  what to do:")
	for _, p := range describe.Phrases(describe.Printable(f.Advice)) {
		l.line("  %s", p.Text)
	}
}

// list numbers the locks that a filter matches.
func (l *linear) list(text string) {
	all := text == "all"
	if all {
		text = ""
	}
	filter := screen.NewFilter(text)
	if problem := filter.Problem(); problem != "" {
		l.line("this filter cannot be read: %s", problem)
		return
	}
	var matching []*inspect.Lock
	for k := range l.snapshot.Locks() {
		if filter.Match(screen.FilterSubject{Lock: k, Snapshot: l.snapshot, Now: l.Now()}) {
			matching = append(matching, k)
		}
	}
	slices.SortStableFunc(matching, func(a, b *inspect.Lock) int {
		return cmp.Or(cmp.Compare(describe.LevelOf(b), describe.LevelOf(a)), cmp.Compare(b.Waiting(), a.Waiting()))
	})
	l.listed = l.listed[:0]
	l.line("%s.", describe.Count(len(matching), "lock"))
	for i, k := range matching {
		if i == linearLocks && !all {
			l.line("%d more: list all, or list and a filter", len(matching)-i)
			break
		}
		l.listed = append(l.listed, k.ID)
		found := ""
		if f := describe.Worst(k.Findings); f != nil {
			found = fmt.Sprintf(" %s: %s.", f.Severity, f.Rule)
		}
		l.line("%d: %s. %s.%s", i+1, k.ID, l.verdict(k), found)
	}
}

func (l *linear) verdict(k *inspect.Lock) string {
	return l.view().Verdict(k)
}

func (l *linear) view() describe.View { return describe.View{Snapshot: l.snapshot, Now: l.Now()} }

// about is a command on one lock, by its number in the last list or by its name.
func (l *linear) about(run func(*inspect.Lock)) func(string) {
	return func(name string) {
		if k := l.find(name); k != nil {
			run(k)
		}
	}
}

// find returns nil where there is no such lock, after a line with the reason.
func (l *linear) find(name string) *inspect.Lock {
	if name == "" {
		l.line("of which lock? give its number in the last list, or its name, as in: show zk:/locks/orders")
		return nil
	}
	id, err := inspect.ParseID(name)
	if n, bad := strconv.Atoi(name); bad == nil {
		if n < 1 || n > len(l.listed) {
			l.line("the last list has no number %d; list makes a new one", n)
			return nil
		}
		id, err = l.listed[n-1], nil
	}
	if err != nil {
		l.line("%s is no number and no name of a lock, which is BACKEND:PATH", strconv.QuoteToASCII(name))
		return nil
	}
	k := l.snapshot.Lock(id)
	if k == nil {
		l.line("%s is not there now; list makes a new list", id)
	}
	return k
}

// show lists all of a lock, and has it read in full from now on.
func (l *linear) show(k *inspect.Lock) {
	l.observer.Focus(k.ID)
	l.line("%s, %s, %s. %s.", k.ID, describe.KindOf(k), cmp.Or(k.Recipe, "no known library"), l.verdict(k))
	for i := range k.Holders {
		c := &k.Holders[i]
		l.line("holder: %s, %s, for %s.", describe.Owner(c), c.Name.Cut(64), l.view().Held(k, c))
	}
	for i := range k.Waiters {
		c := &k.Waiters[i]
		l.line("%d in line: %s, %s, for %s%s.", i+1, describe.Owner(c), c.Name.Cut(64), age(l.snapshot, k, c), watchWords(c))
	}
	for _, m := range k.Masters {
		addr := inspect.Escape(m.Addr)
		switch {
		case !m.Up:
			l.line("master %s: unknown, it does not answer.", addr)
		case !m.Present:
			l.line("master %s: the key is absent.", addr)
		case m.Agrees:
			l.line("master %s: votes for the holder.", addr)
		default:
			l.line("master %s: has %s.", addr, m.Value.Cut(48))
		}
	}
	for _, f := range k.Findings {
		l.line("%s, %s: %s.", f.Severity, f.Rule, describe.Printable(f.Message))
		l.todo(f)
	}
}

// watchWords word a waiter's watch, by which it would hear of its turn.
func watchWords(c *inspect.Contender) string {
	switch {
	case c.Watches == "":
		return ""
	case c.Watch == inspect.Confirmed:
		return ", its watch is confirmed"
	case c.Watch == inspect.Missing:
		return ", its watch is missing"
	default:
		return ", its watch was not checked"
	}
}

// events lists the last ones, of one lock where it is named.
func (l *linear) events(name string) {
	var of inspect.ID
	if name != "" {
		k := l.find(name)
		if k == nil {
			return
		}
		of = k.ID
	}
	var lines []loggedLine
	for _, e := range l.log {
		if name == "" || e.lock == of {
			lines = append(lines, e)
		}
	}
	lines = lines[max(0, len(lines)-linearLocks):]
	l.line("%s, the newest last.", describe.Count(len(lines), "event"))
	for _, e := range lines {
		l.print(e.names, e.text)
	}
}

func (l *linear) backends(string) {
	for _, b := range l.snapshot.Backends {
		if b.State == inspect.Connected {
			l.line("backend %s: %s, by %s.", b.Name, b.State, b.Mode)
		} else {
			l.line("backend %s: %s, %s.", b.Name, b.State, describe.Failure(b))
		}
		for i := range b.Servers {
			s := &b.Servers[i]
			l.line("  server %s: %s, %s.", inspect.Escape(s.Addr), s.State, cmp.Or(s.Role, "its role is unknown"))
		}
	}
}

// release gives the guarded command: this mode changes nothing.
func (l *linear) release(k *inspect.Lock) {
	if len(k.Holders) == 0 {
		l.line("nobody that can be seen holds %s", k.ID)
		return
	}
	l.line("nothing is changed here. The command asks before it does anything:")
	for i := range k.Holders {
		c := &k.Holders[i]
		l.line("%s", l.setup.command("release", k.ID, "--owner", cmp.Or(c.Digest(), c.Name.String())))
	}
}
