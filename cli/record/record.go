// Package record has the commands that make and compare recordings.
package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recording"
)

// record is one run of the command record.
type record struct {
	*app.App
	length time.Duration
	force  bool
	most   int // MiB; 0 means no limit
}

// defaultMost is the size in MiB at which a recording ends. With 1,000 locks and 100 changes a
// second that takes about 3 hours uncompressed, or 40 compressed.
const defaultMost = 1024

// Record returns the record command.
func Record(a *app.App) *cobra.Command {
	r := &record{App: a}
	command := &cobra.Command{
		Use:   "record FILE [TARGET…]",
		Short: "Record the locks to a file, to replay later",
		Long: "record watches the targets until interrupted and writes everything it sees to a file that only its\n" +
			"owner may read. It has names, values and addresses as the servers report them, but no credentials. FILE is\n" +
			"compressed about tenfold, unless its name ends in .jsonl or it is a pipe; all commands read both.\n" +
			"Recording to a file stops at 1 GiB (--max-mib).",
		Example: "  lockscope record incident.jsonl zk://localhost:2181/locks\n" +
			"  lockscope record night.zst -p prod --for 8h\n" +
			"  lockscope replay incident.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || strings.Contains(args[0], "://") {
				return app.Usagef("%s needs a FILE before its targets", app.NameOf(cmd))
			}
			return nil
		},
		ValidArgsFunction: func(
			cmd *cobra.Command, args []string, start string,
		) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return app.CompleteTarget(cmd, args, start)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), args[0], args[1:], cmd.Flags().Changed("max-mib"))
		},
	}
	command.Flags().DurationVar(&r.length, "for", 0, "stop after this time (default: when interrupted)")
	command.Flags().BoolVar(&r.force, "force", false, "replace FILE if it exists")
	command.Flags().IntVar(&r.most, "max-mib", defaultMost, "stop when FILE has this size in MiB (0: never)")
	return command
}

func (r *record) run(ctx context.Context, path string, targets []string, bounded bool) error {
	switch {
	case r.length < 0:
		return app.Usagef("--for %v: use a time above 0", r.length)
	case strings.EqualFold(filepath.Ext(path), ".gz"):
		return app.Usagef("%s: a recording is compressed with zstd, not gzip (name it %s, or .jsonl for text)", path,
			path[:len(path)-len(".gz")]+".zst")
	case r.most < 0 || r.most > 1<<30:
		return app.Usagef("--max-mib %d: use a size from 0 to %d", r.most, 1<<30)
	}
	s, err := r.SetUp(ctx, targets)
	if err != nil {
		return err
	}
	defer r.RenewSecrets(ctx, &s, targets, nil)()
	sources, err := r.Sources(s, false, "")
	if err != nil {
		return err
	}
	file, err := app.CreateRecording(path, r.force)
	if err != nil {
		return err
	}
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	interrupted := ctx
	if r.length > 0 {
		limited, cancel := context.WithTimeout(ctx, r.length)
		defer cancel()
		ctx = limited
	}
	ctx, full := context.WithCancel(ctx)
	defer full()
	written := &counter{file: file, full: full}
	regular := app.IsRegular(file)
	if bounded || regular { // a pipe's reader compresses or discards the data itself
		written.most = int64(r.most) << 20
	}
	to, err := app.Packed(path, regular, written)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	source := attentive{recording.New(r.Now, to, sources...), map[string]*inspect.Backend{}, map[string]bool{}}
	observer := inspect.NewObserver(r.Now, source)
	r.Say("recording %s to %s; press Ctrl-C to stop", s.Title(), path)
	start := time.Now()
	err = errors.Join(observer.Run(ctx), to.Close(), file.Close())
	r.Say("recorded %s for %s (%d bytes)", describe.Count(observer.Snapshot().Len(), "lock"),
		describe.Span(time.Since(start)), written.bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if written.isFull() {
		return app.Exitf(app.ExitNo, "%s: stopped at %d MiB (raise --max-mib; files not named .jsonl, .json or .ndjson are "+
			"compressed about tenfold)", path, r.most)
	}
	if err := source.exitOf(r.App, len(sources)); interrupted.Err() == nil {
		return err
	}
	return nil // the user ended it; what is missing has been reported
}

// attentive is a source that remembers each backend's newest state, and whether it ever answered.
type attentive struct {
	inspect.Source
	newest  map[string]*inspect.Backend
	reached map[string]bool
}

func (t attentive) Run(ctx context.Context, emit func(inspect.Update)) error {
	return t.Source.Run(ctx, func(u inspect.Update) {
		if b := u.Backend; b != nil && ctx.Err() == nil { // failures while shutting down do not count
			t.newest[b.Name] = b
			t.reached[b.Name] = t.reached[b.Name] || b.State != inspect.Down
		}
		emit(u)
	})
}

// exitOf returns an error with the exit code if a backend never answered.
func (t attentive) exitOf(a *app.App, backends int) error {
	var failed error
	if len(t.newest) < backends {
		failed = app.ExitError{Code: app.ExitUnreachable}
		a.Say("some backends were never reached")
	}
	for name, b := range t.newest {
		if !t.reached[name] {
			failed = app.ExitError{Code: app.ExitUnreachable}
			a.Say("backend %s was down the whole time: %s", name, describe.Failure(b))
		}
	}
	return failed
}

// counter counts the bytes written to a file, and ends the recording once they reach most (0 means
// no limit). It still writes what comes later, to complete the last line.
type counter struct {
	file        *os.File
	bytes, most int64
	full        context.CancelFunc
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.bytes += int64(n)
	if c.isFull() {
		c.full()
	}
	return n, err
}

func (c *counter) isFull() bool { return c.most > 0 && c.bytes >= c.most }
