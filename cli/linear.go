package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muesli/cancelreader"
	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/screen"
)

// Limits of what is listed at once and kept.
const (
	linearLocks  = 20
	linearEvents = 500
)

// linear is the screen as a conversation in lines, for screen readers and for terminals that cannot redraw: changes are told as they
// come, and commands are answered. Nothing is drawn, moved or coloured, and nothing is changed on a server.
type linear struct {
	*app
	setup    setup
	observer *inspect.Observer
	out      *bufio.Writer
	snapshot *inspect.Snapshot
	started  bool         // everything was looked at once: commands are answered
	telling  string       // one of tellings
	listed   []inspect.ID // what the numbers of the last list stand for
	log      []loggedLine // the newest last
}

// loggedLine tells an event.
type loggedLine struct {
	lock inspect.ID
	text string
}

// The events that are told as they come.
const (
	tellFindings = "findings" // those of findings and backends
	tellAll      = "all"
	tellNothing  = "nothing"
)

const linearHelp = `commands, by their first letters too:
wrong            what is wrong, the worst first, and what to do
list FILTER      the locks, the worst first, with numbers; FILTER as on the screen, all for more than 20
show N           one lock by its number in the last list, or by its name
events N         the last events, of all locks or of one
backends         the servers
release N        the command that frees a lock; nothing is changed here
tell all         tell every event as it comes; tell findings, tell nothing
help             this list
quit             end`

// converse runs until the user quits, the input ends, ctx ends or the sources are done; run runs the observer.
func (l *linear) converse(ctx context.Context, run func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	feed := l.observer.Subscribe()
	defer feed.Close()
	var owned sync.WaitGroup
	defer owned.Wait()
	defer stop()
	snapshots, ended := make(chan *inspect.Snapshot), make(chan error, 1)
	owned.Go(func() {
		ended <- run(ctx)
		stop()
	})
	owned.Go(func() {
		defer close(snapshots)
		for {
			s, err := feed.Next(ctx)
			if err != nil {
				return
			}
			select {
			case snapshots <- s:
			case <-ctx.Done():
				return
			}
		}
	})
	commands, hangUp := l.read(ctx)
	err := l.talk(snapshots, commands)
	stop()
	hangUp()
	return errors.Join(err, <-ended)
}

// read returns the lines of the standard input, and what ends the reading. A terminal or a pipe is not waited for then; what cannot be
// cancelled, a regular file, ends by itself.
func (l *linear) read(ctx context.Context) (lines <-chan string, end func()) {
	input := l.Stdin
	cancel := func() bool { return true }
	if r, err := cancelreader.NewReader(l.Stdin); err == nil {
		input, cancel = r, r.Cancel
	}
	read, done := make(chan string), make(chan struct{})
	go func() {
		defer close(done)
		defer close(read)
		for s := bufio.NewScanner(input); s.Scan(); {
			select {
			case read <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return read, func() {
		if cancel() {
			<-done
		}
	}
}

// talk tells and answers, one thing at a time.
func (l *linear) talk(snapshots <-chan *inspect.Snapshot, commands <-chan string) error {
	for {
		heard := commands
		if !l.started {
			heard = nil // there is nothing to answer with
		}
		select {
		case s, ok := <-snapshots:
			if !ok {
				return nil
			}
			l.report(s)
		case line, ok := <-heard:
			if !ok || l.answer(line) {
				return l.out.Flush()
			}
		}
		if err := l.out.Flush(); err != nil {
			return err
		}
	}
}

func (l *linear) line(format string, args ...any) { fmt.Fprintf(l.out, format+"\n", args...) }

// report keeps a snapshot, and tells what is new in it.
func (l *linear) report(s *inspect.Snapshot) {
	l.snapshot = s
	if s.Dropped > 0 {
		l.line("%s not told: they came too fast", describe.Count(s.Dropped, "event"))
	}
	for _, e := range s.Events {
		text := l.event(e)
		l.log = append(l.log, loggedLine{e.Lock, text})
		if l.started && l.wants(e) {
			l.line("%s", text)
		}
	}
	l.log = l.log[max(0, len(l.log)-linearEvents):]
	if !l.started && lookedAt(s) {
		l.started = true
		l.line("lockscope is watching %s in %s. What is wrong: %s. Type help and enter for the commands.",
			describe.Count(s.Len(), "lock"), describe.Count(len(s.Backends), "backend"), tally(l.counts()))
	}
}

func (l *linear) wants(e inspect.Event) bool {
	if l.telling != tellFindings {
		return l.telling == tellAll
	}
	return e.Finding != nil || e.Backend != nil || e.Change != nil
}

// event words an event: time, what it is about, what happened, details.
func (l *linear) event(e inspect.Event) string {
	name, backend := e.Lock.String(), e.Lock.Backend
	if e.Backend != nil {
		backend = e.Backend.Name
		if e.Lock == (inspect.ID{}) {
			name = "backend " + backend
		}
	}
	text := fmt.Sprintf("%s, %s: %s", describe.Clock(e.At), name, e.Kind)
	if detail := eventDetail(e, l.snapshot.Backend(backend).ClockOffset()); detail != "" {
		text += ", " + detail
	}
	return text
}

// counts are the findings by severity, without those that are muted.
func (l *linear) counts() map[inspect.Severity]int {
	counts := make(map[inspect.Severity]int)
	for _, c := range diagnose(l.snapshot) {
		if c.Muted == nil {
			counts[c.Severity]++
		}
	}
	return counts
}

// answer answers a command, and reports whether it was the last.
func (l *linear) answer(typed string) (quit bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	rest = strings.TrimSpace(rest)
	commands := []struct {
		name string
		run  func(string)
	}{
		{"wrong", l.wrong},
		{"list", l.list},
		{"show", l.about(l.show)},
		{"events", l.events},
		{"backends", l.backends},
		{"release", l.about(l.release)},
		{"tell", l.setTelling},
		{"help", func(string) { l.line("%s", linearHelp) }},
		{"quit", func(string) { quit = true }},
	}
	if word == "" {
		return false
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, strings.ToLower(word)) {
			c.run(rest)
			return quit
		}
	}
	l.line("there is no command %s; help lists them", strconv.QuoteToASCII(word))
	return false
}

// wrong tells all findings, and what could not be seen.
func (l *linear) wrong(string) {
	found := diagnose(l.snapshot)
	l.line("%s.", tally(l.counts()))
	for i, c := range found {
		muted := ""
		if c.Muted != nil {
			muted = ", muted until " + describe.Clock(c.Muted.Until)
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
		return cmp.Or(cmp.Compare(describe.LevelOf(b), describe.LevelOf(a)), cmp.Compare(len(b.Waiters), len(a.Waiters)))
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

// find says why where there is no such lock.
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

// show tells all of a lock, and has it read in full from now on.
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

// watchWords say whether a waiter would hear of its turn.
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

// events tells the last ones, of one lock where it is named.
func (l *linear) events(name string) {
	var of inspect.ID
	if name != "" {
		k := l.find(name)
		if k == nil {
			return
		}
		of = k.ID
	}
	var lines []string
	for _, e := range l.log {
		if name == "" || e.lock == of {
			lines = append(lines, e.text)
		}
	}
	lines = lines[max(0, len(lines)-linearLocks):]
	l.line("%s, the newest last.", describe.Count(len(lines), "event"))
	for _, text := range lines {
		l.line("%s", text)
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
		l.line("%s", l.setup.command("release", k.ID, "--owner", cmp.Or(c.Digest, c.Name.String())))
	}
}

func (l *linear) setTelling(what string) {
	for _, t := range []string{tellFindings, tellAll, tellNothing} {
		if what != "" && strings.HasPrefix(t, what) {
			l.telling = t
			l.line("telling %s.", t)
			return
		}
	}
	l.line("tell findings, tell all or tell nothing? Now it is %s.", l.telling)
}

func linearFlag(command *cobra.Command, into *bool) {
	command.Flags().BoolVar(into, "linear", false, "no screen: tell changes in lines and answer commands, for screen readers and pipes")
}

// linearScreen is showScreen in lines.
func (a *app) linearScreen(ctx context.Context, observer *inspect.Observer, s setup, run func(context.Context, *inspect.Observer) error) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	l := &linear{app: a, setup: s, observer: observer, out: bufio.NewWriter(a.Stdout), telling: tellFindings}
	err := l.converse(ctx, func(ctx context.Context) error { return run(ctx, observer) })
	if errors.Is(err, io.ErrClosedPipe) {
		return nil // nobody listens any more
	}
	return err
}
