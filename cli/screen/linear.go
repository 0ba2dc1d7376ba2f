package screen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
)

// linear is the screen in plain lines, for screen readers and terminals that cannot redraw. It
// prints changes as they happen, and answers commands in the formats of ls, show, doctor and watch.
// It never writes to a server.
type linear struct {
	*app.App
	setup    app.Setup
	observer *inspect.Observer
	started  chan struct{} // closed once the first look is complete and commands can be answered

	mu       sync.Mutex // guards all below, and the output
	events   render.EventLines
	snapshot *inspect.Snapshot
	looked   bool   // started is closed
	reports  string // the events to print: reportFindings, reportAll or reportNothing
}

// The arguments of the command print.
const (
	reportFindings = "findings" // and changes of backends
	reportAll      = "all"
	reportNothing  = "nothing"
)

const linearHelp = `commands, which may be abbreviated:
wrong            list the problems, worst first, with advice
list FILTER      list the locks; FILTER as on the screen
show LOCK        show a lock
release LOCK     print the command that releases a lock, without running it
print WHAT       choose the events to print: all, findings or nothing
help             list the commands
quit             quit
`

// converse runs until the user quits, the input ends, ctx ends or the sources are done; run runs
// the observer.
func (l *linear) converse(ctx context.Context, run func(context.Context, *inspect.Observer) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	heard := make(chan error, 1)
	go func() { // a read from a terminal cannot be cancelled: it ends with the program
		defer stop()
		heard <- l.hear(ctx)
	}()
	err := app.FollowRun(ctx, l.observer, run, func(s *inspect.Snapshot) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.report(s)
	})
	select {
	case failed := <-heard:
		return errors.Join(err, failed)
	default:
		return err
	}
}

// hear answers the commands once the first look is complete.
func (l *linear) hear(ctx context.Context) error {
	select {
	case <-l.started:
	case <-ctx.Done():
		return nil
	}
	for lines := bufio.NewScanner(l.Stdin); lines.Scan() && ctx.Err() == nil; {
		l.mu.Lock()
		quit, err := l.answer(lines.Text())
		l.mu.Unlock()
		if quit || err != nil {
			return err
		}
	}
	return nil
}

func (l *linear) line(format string, args ...any) error {
	_, err := fmt.Fprintln(l.Stdout, describe.Printable(fmt.Sprintf(format, args...)))
	return err
}

// report keeps a snapshot, and prints its changes.
func (l *linear) report(s *inspect.Snapshot) error {
	l.snapshot = s
	if s.Dropped > 0 {
		l.Say("%s not printed: too many at once", describe.Count(s.Dropped, "event"))
	}
	for _, e := range s.Events {
		if !l.looked || !l.wants(e) {
			continue
		}
		if err := l.events.Print(s, e); err != nil {
			return err
		}
	}
	if err := l.events.To.Flush(); err != nil || l.looked || !app.LookedAt(s) {
		return err
	}
	l.looked = true
	close(l.started)
	return l.line("watching %s in %s, %s; type help for the commands",
		describe.Count(s.Len(), "lock"), describe.Count(len(s.Backends), "backend"), render.Tally(unmuted(s)))
}

func (l *linear) wants(e inspect.Event) bool {
	if l.reports != reportFindings {
		return l.reports == reportAll
	}
	return e.Finding != nil || e.Backend != nil || e.Change != nil
}

// unmuted counts the findings by severity, without the muted ones.
func unmuted(s *inspect.Snapshot) map[inspect.Severity]int {
	counts := make(map[inspect.Severity]int)
	for _, c := range render.Diagnose(s) {
		if c.Muted == nil {
			counts[c.Severity]++
		}
	}
	return counts
}

// answer runs a command, and reports whether that was quit. An error means that writing failed.
func (l *linear) answer(typed string) (quit bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	rest = strings.TrimSpace(rest)
	commands := []struct {
		name string
		run  func(string) error
	}{
		{"wrong", l.wrong},
		{"list", l.list},
		{"show", l.about(l.show)},
		{"release", l.about(l.release)},
		{"print", l.setReports},
		{"help", func(string) error { _, err := io.WriteString(l.Stdout, linearHelp); return err }},
		{"quit", func(string) error { quit = true; return nil }},
	}
	if word == "" {
		return false, nil
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, strings.ToLower(word)) {
			err := c.run(rest)
			return quit, err
		}
	}
	return false, l.line("unknown command %s; help lists the commands", strconv.QuoteToASCII(word))
}

// wrong prints what doctor would.
func (l *linear) wrong(string) error {
	_, err := io.WriteString(l.Stdout, render.Report(l.snapshot, render.Diagnose(l.snapshot)))
	return err
}

// list prints what ls would.
func (l *linear) list(text string) error {
	filter := screen.NewFilter(text)
	if problem := filter.Problem(); problem != "" {
		return l.line("invalid filter: %s", problem)
	}
	shown := app.Filtered(l.snapshot, filter)
	if shown.Len() == 0 {
		return l.line("no matches in %s", describe.Count(l.snapshot.Len(), "lock"))
	}
	return l.PrintLocks(shown, "table", "")
}

// about wraps a command on one lock.
func (l *linear) about(run func(*inspect.Lock) error) func(string) error {
	return func(name string) error {
		id, err := inspect.ParseID(name)
		if err != nil {
			const form = "%s is not a lock's name (use BACKEND:PATH, as in: show zk:/locks/orders)"
			return l.line(form, strconv.QuoteToASCII(name))
		}
		k := l.snapshot.Lock(id)
		if k == nil {
			return l.line("%s: no such lock", id)
		}
		return run(k)
	}
}

// show prints what the show command would, and keeps reading this lock in full.
func (l *linear) show(k *inspect.Lock) error {
	l.observer.Focus(k.ID)
	_, err := io.WriteString(l.Stdout, render.LockTree(l.snapshot, k, l.Width(), l.setup.Config.OwnerCommand))
	return err
}

// release only prints the command to run, since this mode changes nothing.
func (l *linear) release(k *inspect.Lock) error {
	if len(k.Holders) == 0 {
		return l.line("%s: no known holder", k.ID)
	}
	for i := range k.Holders {
		c := &k.Holders[i]
		command := l.setup.Command("release", k.ID, "--owner", c.Argument().String())
		if err := l.line("%s", command); err != nil {
			return err
		}
	}
	return nil
}

func (l *linear) setReports(what string) error {
	for _, t := range []string{reportFindings, reportAll, reportNothing} {
		if what != "" && strings.HasPrefix(t, what) {
			l.reports = t
			return l.line("printing %s", t)
		}
	}
	return l.line("print: use all, findings or nothing (now: %s)", l.reports)
}

// LinearFlag is --linear.
func LinearFlag(command *cobra.Command, into *bool) {
	const help = "print changes as lines and accept typed commands, for screen readers and pipes"
	command.Flags().BoolVar(into, "linear", false, help)
}

// linearScreen is showScreen in plain lines.
func linearScreen(
	ctx context.Context, a *app.App, observer *inspect.Observer, s app.Setup,
	run func(context.Context, *inspect.Observer) error,
) error {
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	l := &linear{App: a, setup: s, observer: observer, started: make(chan struct{}), reports: reportFindings}
	l.events = render.EventLines{To: bufio.NewWriter(a.Stdout), Width: a.Width}
	err := l.converse(ctx, run)
	if errors.Is(err, io.ErrClosedPipe) {
		return nil // the reader is gone
	}
	return err
}
