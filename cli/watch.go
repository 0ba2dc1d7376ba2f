package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/jsonform"
	"lockscope/inspect/recipe"
)

// watch is one run of the command of that name.
type watch struct {
	*app
	notifying
	output   string
	lines    *bufio.Writer
	column   int  // how wide the column of names is by now
	complete bool // that everything has been looked at once
}

func (a *app) watchCommand() *cobra.Command {
	w := &watch{app: a, notifying: notifying{app: a}}
	command := &cobra.Command{
		Use:   "watch [TARGET…]",
		Short: "Print lock events as they happen, one line each",
		Long: "watch prints a line for every lock that appears or disappears, every contender that queues, is granted the lock,\n" +
			"releases it, expires or ends unseen, every finding raised or cleared, and every backend that goes down or recovers,\n" +
			"until interrupted. What was there before it started is no event.\n\n" +
			"With --exec or --webhook it also alerts: each finding from --notify-on on, those that are there at the start included, is\n" +
			"handed over once when it comes and once when it is cleared, as is a backend that is not well. One that is muted is not.\n" +
			"A receiver that fails is tried again for 15 minutes.",
		Example: "  lockscope watch zk://localhost:2181/locks\n" +
			"  lockscope watch redis://r1,r2,r3 -o jsonl | jq 'select(.event == \"ended\" or .event == \"expired\")'\n" +
			"  lockscope watch -p prod | grep --line-buffered finding\n" +
			"  lockscope watch -p prod --exec 'jq -r .finding.message | mail -s \"$LOCKSCOPE_FINDING $LOCKSCOPE_LOCK\" oncall'\n" +
			"  lockscope watch -p prod --webhook @/etc/lockscope/webhook-url --notify-on critical",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: completeTarget,
		PreRunE: func(*cobra.Command, []string) error {
			if err := oneOf(w.output, "text", "jsonl"); err != nil {
				return err
			}
			return w.prepare()
		},
		RunE: a.followTargets(w.run),
	}
	outputFlag(command, &w.output, "text", "jsonl")
	w.addFlags(command)
	return command
}

// run prints events until ctx ends, the user interrupts, nobody reads them any more, or the sources are done.
func (w *watch) run(ctx context.Context, observer *inspect.Observer) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe then fails, and is the quiet end
	defer signal.Reset(syscall.SIGPIPE)
	var notifier sync.WaitGroup
	defer notifier.Wait()
	defer stop()
	ready := make(chan struct{})
	notifier.Go(func() { w.notifying.run(ctx, observer, ready) })
	<-ready
	w.lines = bufio.NewWriter(w.Stdout)
	return w.follow(ctx, observer, func(s *inspect.Snapshot) error {
		err := w.print(s)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			stop() // nobody reads it any more
			return nil
		}
		return err
	})
}

func (w *watch) print(s *inspect.Snapshot) error {
	if s.Dropped > 0 {
		w.say("%s not printed: they came faster than they could be written", describe.Count(s.Dropped, "event"))
	}
	for _, e := range s.Events {
		if err := w.event(s, e); err != nil {
			return err
		}
	}
	if !w.complete && lookedAt(s) {
		w.complete = true
		w.say("watching %s%s; interrupt to end", describe.Count(s.Len(), "lock"), notLookedAt(s))
	}
	return w.lines.Flush()
}

// lookedAt reports whether every backend has been looked at once or cannot be.
func lookedAt(s *inspect.Snapshot) bool {
	for _, b := range s.Backends {
		if !b.FirstPass && b.State != inspect.Down {
			return false
		}
	}
	return len(s.Backends) > 0
}

// notLookedAt names the backends that nothing could be read from yet, so that a count of locks is not taken for all.
func notLookedAt(s *inspect.Snapshot) string {
	var names []string
	for _, b := range s.Backends {
		if !b.FirstPass {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", nothing seen of " + strings.Join(names, ", ") + " yet"
}

func (w *watch) event(s *inspect.Snapshot, e inspect.Event) error {
	backend := e.Lock.Backend
	if e.Backend != nil {
		backend = e.Backend.Name
	}
	b := s.Backend(backend)
	if w.output == "jsonl" {
		lines := json.NewEncoder(w.lines)
		lines.SetEscapeHTML(false)
		return lines.Encode(jsonform.Event(e, b))
	}
	line := w.text(e, b.ClockOffset())
	if width := w.width(); width > 0 {
		line = ansi.Truncate(line, width, "...")
	}
	_, err := w.lines.WriteString(line + "\n")
	return err
}

// widestName limits the column of names, in cells.
const widestName = 40

// text returns an event as a line: local time, kind, lock, then owner or reason. offset is the backend's clock minus
// ours.
func (w *watch) text(e inspect.Event, offset time.Duration) string {
	name := e.Lock.String()
	if e.Lock == (inspect.ID{}) && e.Backend != nil {
		name = "backend " + e.Backend.Name
	}
	w.column = max(w.column, min(widestName, ansi.StringWidth(name)))
	line := e.At.Local().Format("15:04:05.000") + gap + pad(string(e.Kind), len(inspect.EventAppeared)) + gap + pad(name, w.column)
	return strings.TrimRight(line+gap+eventDetail(e, offset), " ")
}

func pad(text string, cells int) string {
	return text + strings.Repeat(" ", max(0, cells-ansi.StringWidth(text)))
}

// eventDetail words the owner or the finding of an event.
func eventDetail(e inspect.Event, offset time.Duration) string {
	switch {
	case e.Finding != nil:
		return fmt.Sprintf("%s: %s: %s", e.Finding.Severity, e.Finding.Rule, describe.Printable(e.Finding.Message))
	case e.Kind == inspect.EventBlind:
		return describe.Blind(e.Between)
	case e.Change != nil:
		return describe.Change(e.Change)
	case e.Backend != nil && e.Backend.State == inspect.Connected:
		return fmt.Sprintf("%s, by %s", e.Backend.State, e.Backend.Mode)
	case e.Backend != nil:
		return fmt.Sprintf("%s: %s", e.Backend.State, describe.Failure(e.Backend))
	case e.Contender == nil:
		return ""
	case e.Kind == inspect.EventHandover:
		return contenderWords(e, offset) + ", after " + e.From().Cut(48)
	case e.Kind == inspect.EventGone:
		return contenderWords(e, offset) + ", who waited"
	default:
		return contenderWords(e, offset)
	}
}

// contenderWords name a contender by its owner and, where that is another, its own name; and how long it held.
func contenderWords(e inspect.Event, offset time.Duration) string {
	c := e.Contender
	text := c.Who().Cut(64)
	if c.Who() != c.Name {
		text += " (" + c.Name.Cut(64) + ")"
	}
	if !e.Between.From.IsZero() {
		text += ", some time after " + describe.When(e.Between.From, e.At.Local())
	}
	switch e.Kind {
	case inspect.EventEnded:
		text += ": how is unknown"
	case inspect.EventReleased, inspect.EventExpired, inspect.EventForced:
		if !c.HeldSince.IsZero() {
			text += ", held " + describe.Span(e.At.Add(offset).Sub(c.HeldSince))
		}
		switch {
		case e.Kind != inspect.EventReleased || e.Certainty != recipe.Likely:
		case c.Owner.Session != 0:
			text += "; or its session expired"
		}
	}
	return text
}
