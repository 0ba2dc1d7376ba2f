package cli

import (
	"bufio"
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
)

// Limits of what is listed at once and kept.
const (
	linearLocks  = 20
	linearEvents = 500
)

// linear is the screen as a conversation in lines, for screen readers and for terminals that cannot redraw: changes are reported as
// they come, and commands are answered. Nothing is drawn, moved or coloured, and nothing is changed on a server.
type linear struct {
	*app
	setup    setup
	observer *inspect.Observer
	out      *bufio.Writer
	snapshot *inspect.Snapshot
	started  bool         // everything was looked at once: commands are answered
	reports  string       // the events that are reported as they come: reportFindings, reportAll or reportNothing
	listed   []inspect.ID // what the numbers of the last list stand for
	log      []loggedLine // the newest last

	// Names to be left as they are in a locale without UTF-8: those of the snapshot named, and those that were typed.
	names, typed []string
	named        *inspect.Snapshot
}

// loggedLine words an event.
type loggedLine struct {
	lock  inspect.ID
	text  string
	names []string // in text, to be left as they are
}

// The events that are reported as they come, in the words of the command tell.
const (
	reportFindings = "findings" // those of findings and backends
	reportAll      = "all"
	reportNothing  = "nothing"
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

// talk reports and answers, one thing at a time.
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

// line prints a line about what is there now.
func (l *linear) line(format string, args ...any) {
	if l.kept != nil && l.named != l.snapshot {
		l.named, l.names = l.snapshot, snapshotNames(l.snapshot)
	}
	l.print(slices.Concat(l.names, l.typed), fmt.Sprintf(format, args...))
}

// print prints lines in which these names stay as they are, whatever the locale.
func (l *linear) print(names []string, text string) {
	if l.kept != nil {
		_ = l.out.Flush() // what stands in it has other names; an error stays until the next flush
		l.kept.keep(names)
	}
	_ = writeLine(l.out, text)
}

// report keeps a snapshot, and prints what is new in it.
func (l *linear) report(s *inspect.Snapshot) {
	l.snapshot = s
	if s.Dropped > 0 {
		l.line("%s not reported: they came too fast", describe.Count(s.Dropped, "event"))
	}
	for _, e := range s.Events {
		logged := loggedLine{e.Lock, l.event(e), eventNames(s, e)}
		l.log = append(l.log, logged)
		if l.started && l.wants(e) {
			l.print(logged.names, logged.text)
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
	if l.reports != reportFindings {
		return l.reports == reportAll
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
	text := fmt.Sprintf("%s, %s: %s", describe.When(e.At, l.snapshot.TakenAt.Local()), name, e.Kind)
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
	_, path, _ := strings.Cut(rest, ":")
	l.typed = signed(rest, path)
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
		{"tell", l.setReports},
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

func (l *linear) setReports(what string) {
	for _, t := range []string{reportFindings, reportAll, reportNothing} {
		if what != "" && strings.HasPrefix(t, what) {
			l.reports = t
			l.line("telling %s.", t)
			return
		}
	}
	l.line("tell findings, tell all or tell nothing? Now it is %s.", l.reports)
}

func linearFlag(command *cobra.Command, into *bool) {
	command.Flags().BoolVar(into, "linear", false, "no screen: tell changes in lines and answer commands, for screen readers and pipes")
}

// linearScreen is showScreen in lines.
func (a *app) linearScreen(ctx context.Context, observer *inspect.Observer, s setup, run func(context.Context, *inspect.Observer) error) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	l := &linear{app: a, setup: s, observer: observer, out: bufio.NewWriter(a.Stdout), reports: reportFindings}
	err := l.converse(ctx, func(ctx context.Context) error { return run(ctx, observer) })
	if errors.Is(err, io.ErrClosedPipe) {
		return nil // nobody listens any more
	}
	return err
}
