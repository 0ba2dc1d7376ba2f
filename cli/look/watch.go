package look

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// watch is one run of the command watch.
type watch struct {
	*app.App
	notifying
	output   string
	events   render.EventLines
	complete bool // everything has been read once
}

// Watch returns the watch command.
func Watch(a *app.App) *cobra.Command {
	w := &watch{App: a, notifying: notifying{App: a}}
	command := &cobra.Command{
		Use:   "watch [TARGET…]",
		Short: "Print lock events as they happen, one line each",
		Long: "watch prints a line for each event until interrupted:\n" +
			"a lock appears or disappears;\n" +
			"a contender queues, acquires or releases the lock; a hold expires or ends for an unknown reason;\n" +
			"a finding is raised or cleared; a backend goes down or recovers.\n" +
			"It does not report what already existed at the start.\n\n" +
			"With --exec or --webhook it also alerts once per finding at or above --notify-on, including those\n" +
			"present at the start, and once when it is cleared. It also alerts on a backend that fails or recovers.\n" +
			"Muted findings do not alert. A failed delivery is retried for 15 minutes.",
		Example: "  lockscope watch zk://localhost:2181/locks\n" +
			"  lockscope watch redis://r1,r2,r3 -o jsonl | jq 'select(.event == \"ended\" or .event == \"expired\")'\n" +
			"  lockscope watch -p prod | grep --line-buffered finding\n" +
			"  lockscope watch -p prod --exec 'jq -r .finding.message | mail -s \"$LOCKSCOPE_FINDING " +
			"$LOCKSCOPE_LOCK\" oncall'\n" +
			"  lockscope watch -p prod --webhook @/etc/lockscope/webhook-url --notify-on critical",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: app.CompleteTarget,
		PreRunE: func(*cobra.Command, []string) error { return w.prepare() },
		RunE:    a.FollowTargets(w.run),
	}
	app.OutputFlag(command, &w.output, "text", "jsonl")
	w.addFlags(command)
	return command
}

// run prints events until ctx ends, the user interrupts, the output is closed, or the sources end.
func (w *watch) run(ctx context.Context, setup app.Setup, observer *inspect.Observer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe then fails, which ends the command quietly
	defer signal.Reset(syscall.SIGPIPE)
	var notifier sync.WaitGroup
	defer notifier.Wait()
	defer stop()
	ready := make(chan struct{})
	notifier.Go(func() { w.notifying.run(ctx, observer, ready) })
	<-ready
	w.events = render.EventLines{To: bufio.NewWriter(w.Stdout), JSON: w.output == "jsonl", Width: w.Width}
	return w.Follow(ctx, setup, observer, func(s *inspect.Snapshot) error {
		err := w.print(s)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			stop() // the reader is gone
			return nil
		}
		return err
	})
}

func (w *watch) print(s *inspect.Snapshot) error {
	if s.Dropped > 0 {
		w.Say("%s not printed: too many at once", describe.Count(s.Dropped, "event"))
	}
	for _, e := range s.Events {
		if err := w.events.Print(s, e); err != nil {
			return err
		}
	}
	if !w.complete && app.LookedAt(s) {
		w.complete = true
		w.Say("watching %s%s; press Ctrl-C to stop", describe.Count(s.Len(), "lock"), unreadBackends(s))
		if s.Len() == 0 {
			w.SaySought(s)
		}
	}
	return w.events.To.Flush()
}

// unreadBackends names the backends that have not been read yet, so that the count of locks does not look
// complete.
func unreadBackends(s *inspect.Snapshot) string {
	unseen := each.Where(s.Backends, func(b *inspect.Backend) bool { return !b.FirstPass })
	if len(unseen) == 0 {
		return ""
	}
	names := each.Of(unseen, func(b *inspect.Backend) string { return b.Name })
	return ", not read yet: " + strings.Join(names, ", ")
}
