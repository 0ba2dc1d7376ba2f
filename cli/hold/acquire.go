// Package hold has the commands that hold locks, and the screen's lab.
package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
)

// acquisition is one run of acquire.
type acquisition struct {
	lockChoice
	wait     time.Duration
	waits    bool // only for the time of wait; else forever
	output   string
	command  []string
	ended    func(error) // records the end of the hold
	printing sync.Mutex
	name     string // of our entry, according to the last event
}

// Acquire returns the acquire command.
func Acquire(a *app.App) *cobra.Command {
	q := &acquisition{lockChoice: lockChoice{App: a}}
	command := &cobra.Command{
		Use:   "acquire LOCK [TARGET…] [-- COMMAND…]",
		Short: "Acquire a lock, hold it while COMMAND runs or until interrupted, then release it",
		Example: "  lockscope acquire zk:/locks/deploy zk://localhost -- ./deploy.sh\n" +
			"  lockscope acquire redis:lock:report redis://r1,r2,r3 --ttl 20s --wait 0 -o jsonl",
		Args: app.LockFirst, ValidArgsFunction: q.CompleteLock,
	}
	q.flags(command)
	command.Flags().DurationVar(&q.wait, "wait", 0, "how long to wait for the lock; 0 tries once (default: forever)")
	command.Flags().StringVar(&q.acl, "acl", "",
		"ZooKeeper: ACL of created nodes, as SCHEME:ID:cdrwa,… (default: the parent's)")
	app.OutputFlag(command, &q.output, "text", "jsonl")
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args, q.command = args[:dash], args[dash:]
		}
		if err := app.LockFirst(cmd, args); err != nil {
			return err
		}
		q.waits = cmd.Flags().Changed("wait")
		return q.run(cmd.Context(), args)
	}
	return command
}

func (q *acquisition) run(ctx context.Context, args []string) error {
	if err := q.check(ctx, args); err != nil {
		return err
	}
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	locker, closeSession, err := q.locker(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return app.ExitError{Code: app.ExitInterrupted}
		}
		if notTaken(err) == app.ExitNo {
			err = app.Exitf(app.ExitNo, "%w", err)
		}
		return q.setup.Explain(err)
	}
	defer closeSession()
	hold, err := q.acquire(ctx, locker)
	if err != nil {
		return q.setup.Explain(q.notAcquired(ctx, err))
	}
	audit := newOwnAudit(q.lockChoice.App, q.setup)
	defer audit.close()
	q.ended = audit.acquired(q.target, q.id, hold)
	q.report("acquired", hold)
	return q.end(hold, q.keep(ctx, hold))
}

// end releases the lock. A loss takes precedence over COMMAND's exit code.
func (q *acquisition) end(hold *lockops.Hold, kept error) error {
	back := q.giveBack(hold)
	switch {
	case !errors.Is(back, lockops.ErrLost):
		return errors.Join(kept, back)
	case !errors.Is(kept, lockops.ErrLost): // not reported yet
		q.report("lost", hold)
		return app.Exitf(app.ExitLost, "%w", back)
	}
	return kept
}

// check reads the arguments, and checks them without asking a server.
func (q *acquisition) check(ctx context.Context, args []string) (err error) {
	if q.wait < 0 {
		return app.Usagef("--wait %v: use 0 or more", q.wait)
	}
	if len(q.command) > 0 {
		if _, err := exec.LookPath(q.command[0]); err != nil { // fail before waiting for the lock
			return app.Usagef("cannot run %q: %w", inspect.Escape(q.command[0]), err)
		}
	}
	if err := q.choose(ctx, args); err != nil {
		return err
	}
	if _, err := q.kindNamed(q.kind); err != nil {
		return err
	}
	return q.setup.MayWrite()
}

// locker connects and makes the lock.
func (q *acquisition) locker(ctx context.Context) (lockops.Locker, func(), error) {
	kind, err := q.kindNamed(q.kind)
	if err != nil {
		return nil, nil, err
	}
	options := q.options()
	if q.target.Service == connect.ZooKeeper {
		name, err := q.chooseRecipe(ctx, kind)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, lockops.WithRecipe(name), lockops.OnBehind(q.waiting))
	} else {
		options = append(options,
			lockops.OnWaiting(func(name string) { q.waiting(lockops.Queue{Name: name}) }),
			lockops.OnRenew(func(deadline time.Time) { q.event(LockEvent{Event: "renewed"}, "", nil, &deadline) }))
	}
	connecting, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	session, err := q.session(connecting)
	if err != nil {
		return nil, nil, err
	}
	locker, err := kind.New(session, q.id.Path, options...)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return locker, session.Close, nil
}

func (q *acquisition) acquire(ctx context.Context, locker lockops.Locker) (*lockops.Hold, error) {
	if !q.waits {
		return locker.Acquire(ctx)
	}
	if q.wait == 0 {
		limited, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		return locker.TryAcquire(limited)
	}
	limited, cancel := context.WithTimeout(ctx, q.wait)
	defer cancel()
	return locker.Acquire(limited)
}

// notAcquired is the exit code for a lock that was not acquired.
func (q *acquisition) notAcquired(ctx context.Context, err error) error {
	var mixed *lockops.RecipeError
	switch {
	case ctx.Err() != nil:
		return app.ExitError{Code: app.ExitInterrupted}
	case errors.Is(err, context.DeadlineExceeded) && q.waits && q.wait > 0:
		return app.Exitf(app.ExitNo, "%s: not acquired within %v (see who holds it: %s)", q.id, q.wait,
			q.setup.Command("show", q.id))
	case errors.Is(err, lockops.ErrHeld):
		return app.Exitf(app.ExitNo, "%s: another client holds it (wait for it with --wait 30s)", q.id)
	case errors.As(err, &mixed):
		return app.Exitf(app.ExitNo, "%w (%s)", err, q.insteadOf(mixed))
	case errors.Is(err, lockops.ErrNoQuorum) && !errors.As(err, new(*lockops.DeniedError)):
		// Some server has answered, or there was no session: the lock cannot be acquired now.
		return app.Exitf(app.ExitNo, "%s: too few masters answered: %w (wait for them with --wait 30s)", q.id, err)
	default:
		return app.Exitf(notTaken(err), "%w", err)
	}
}

// insteadOf advises on a lock that others use with another kind or recipe.
func (q *acquisition) insteadOf(mixed *lockops.RecipeError) string {
	kind, _ := q.kindNamed(q.kind)
	switch {
	case mixed.FoundKind == "" && slices.Contains(kind.Recipes, mixed.Found):
		return "use --recipe " + mixed.Found + ", or another path"
	case mixed.FoundKind == "":
		return "choose another path"
	default:
		return "use the --kind that its clients use, or another path"
	}
}

// keep holds the lock while the command runs or, without one, until the user ends it.
func (q *acquisition) keep(ctx context.Context, hold *lockops.Hold) error {
	if len(q.command) > 0 {
		return q.runCommand(hold)
	}
	if q.output == "text" {
		q.Say("holding %s; press Ctrl-C to release", q.id)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-hold.Context().Done():
		q.report("lost", hold)
		return app.Exitf(app.ExitLost, "%w", context.Cause(hold.Context()))
	}
}

// giveBack releases the lock. The error wraps ErrLost if it had been lost, which may show only now.
func (q *acquisition) giveBack(hold *lockops.Hold) error {
	ctx, cancel := context.WithTimeout(context.Background(), q.Timeout)
	defer cancel()
	err := hold.Release(ctx)
	q.ended(err)
	switch {
	case errors.Is(err, lockops.ErrLost):
		return err
	case err != nil:
		return q.notReleased(err)
	}
	q.report("released", hold)
	return nil
}

// notReleased is the exit code after a release with an unknown outcome.
func (q *acquisition) notReleased(err error) error {
	if errors.Is(err, lockops.ErrUnknownRelease) {
		return app.Exitf(app.ExitUnreachable, "release %s: %w (nothing is left on the servers)", q.id, err)
	}
	return app.Exitf(app.ExitUnreachable, "release %s: %w (it is freed when its session or TTL ends)", q.id, err)
}

// LockEvent is a line of -o jsonl.
type LockEvent struct {
	Event    string  `json:"event"`
	At       string  `json:"at"`
	Lock     string  `json:"lock"`
	Name     string  `json:"name"`
	Token    *uint64 `json:"token"`
	Deadline *string `json:"deadline"`
	// While waiting on ZooKeeper, these are the holder and the number of contenders before us.
	Behind   string `json:"behind,omitempty"`
	Position int    `json:"position,omitempty"`
}

// report reports an event of a hold.
func (q *acquisition) report(event string, hold *lockops.Hold) {
	var token *uint64
	var deadline *time.Time
	if event == "acquired" {
		if t, ok := hold.Token(); ok {
			token = &t
		}
	}
	if d, ok := hold.Deadline(); ok {
		deadline = &d
	}
	q.event(LockEvent{Event: event}, hold.Name(), token, deadline)
}

// waiting reports that the run waits, and the holder if known.
func (q *acquisition) waiting(at lockops.Queue) {
	q.event(LockEvent{Event: "waiting", Behind: inspect.Escape(at.Holder), Position: at.Position}, at.Name, nil, nil)
}

func (q *acquisition) event(e LockEvent, name string, token *uint64, deadline *time.Time) {
	q.printing.Lock()
	defer q.printing.Unlock()
	if name != "" { // a renewal has none
		q.name = name
	}
	e.Name = inspect.Escape(q.name)
	if q.output == "text" {
		switch {
		case e.Event == "renewed":
		case e.Behind != "":
			q.Say("%s %s as %s: number %d in the queue; %s holds it", e.Event, q.id, e.Name, e.Position, e.Behind)
		default:
			q.Say("%s %s as %s", e.Event, q.id, e.Name)
		}
		return
	}
	e.At, e.Lock, e.Token = q.Now().UTC().Format(time.RFC3339Nano), q.id.String(), token
	if deadline != nil {
		e.Deadline = new(deadline.UTC().Format(time.RFC3339Nano))
	}
	line, _ := json.Marshal(e) // strings and numbers only: it cannot fail
	fmt.Fprintf(q.Stdout, "%s\n", line)
}

// notTaken is the exit code for a lock that could not be taken: 1 if a server refused it to this
// account, else 3. A failed login is not such a refusal.
func notTaken(err error) int {
	if errors.Is(err, zk.ErrNoAuth) || errors.As(err, new(*lockops.DeniedError)) || redis.HasErrorPrefix(err, "NOPERM") {
		return app.ExitNo // by the type of the reply: the text may have NOPERM in a lock's name
	}
	return app.ExitUnreachable
}
