// Package cli is the command line: commands, flags, output and exit codes. Each command is one
// file; what they print and return is a contract that other people's scripts rely on.
package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/hold"
	"github.com/lockscope/lockscope/cli/look"
	"github.com/lockscope/lockscope/cli/record"
	"github.com/lockscope/lockscope/cli/screen"
	"github.com/lockscope/lockscope/inspect"
)

// Main runs one command line, without the program's name, until it is done or ctx ends, and returns
// the exit code.
func Main(ctx context.Context, args []string, env app.Environment) int {
	redis.SetLogger(quiet{}) // go-redis would print every failed dial over the screen; each is in the errors we show
	env.Stderr = env.ForPeople(env.Stderr)
	a := &app.App{Environment: env}
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.InitDefaultCompletionCmd()
	// cobra prints its help for a shell it does not know
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = noSuchSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	root.SetOut(env.ForPeople(env.Stdout)) // for help; completion scripts keep the writer set above
	err := root.ExecuteContext(ctx)
	code := app.ExitCode(err)
	if exit, ok := errors.AsType[app.ExitError](err); err != nil && !(ok && exit.Err == nil) {
		a.Complain(err)
	}
	return code
}

// quiet is a logger of go-redis that says nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func rootCommand(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "lockscope [TARGET…]",
		Short: "See who holds a distributed lock in ZooKeeper or Redis, who waits, and why",
		Long: "lockscope shows the distributed locks in ZooKeeper and Redis: who holds each, who is waiting,\n" +
			"and what is wrong. Without a command it opens the screen on its targets:\n\n" +
			"  zk://host:2181[,host:2181…][/root]      a ZooKeeper ensemble\n" +
			"  redis://host:6379[,host:6379…][/db]     one Redis, or independent masters that share locks (Redlock)\n" +
			"  redis+sentinel://host,host/MASTER  redis+cluster://host,host  redis+unix:///path/to.sock\n" +
			"  zks:// rediss:// rediss+sentinel:// rediss+cluster://  with TLS: " +
			"?ca=FILE&cert=FILE&key=FILE&server_name=NAME\n\n" +
			"Other options: name=NAME and via=ssh://[user@]host (a jump host); for ZooKeeper\n" +
			"admin=http://host:8080 (AdminServers) and chroot=/path; for Redis match=GLOB.",
		Example: "  lockscope demo                                    nothing installed? start here\n" +
			"  lockscope zk://localhost:2181/locks               watch the locks below /locks\n" +
			"  lockscope ls redis://r1:6379,r2:6379,r3:6379      list the locks of three masters\n" +
			"  lockscope show zk:/locks/orders zk://localhost    one lock: holder, queue, who blocks whom",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: app.CompleteTarget,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Version:           app.Version,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !strings.Contains(args[0], "://") {
				return noCommand(cmd, args[0])
			}
			return screen.Run(cmd.Context(), a, args, labFor(a))
		},
	}
	root.SetVersionTemplate("lockscope {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd == root && len(args) > 0 && !strings.Contains(args[0], "://") {
			return noCommand(root, args[0]) // a flag after a mistyped command is unknown here, too
		}
		return app.Usagef("%v (see %s --help)", err, cmd.CommandPath())
	})
	globalFlags(a, root)
	root.SetHelpCommand(helpCommand(root))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.SpeakLocale(cmd)
		return checkOptions(a)
	}
	root.AddCommand(commands(a)...)
	return root
}

// globalFlags adds the flags of all commands, and those of the screen.
func globalFlags(a *app.App, root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVarP(&a.Profile, "profile", "p", "", "use the profile `NAME` of the configuration")
	flags.StringVar(&a.ConfigFile, "config", "", "use the configuration `FILE`")
	flags.DurationVar(&a.Timeout, "timeout", 10*time.Second, "give up on a server after this time without progress")
	flags.StringVar(&a.Budget, "budget", "default", "how often to poll: default, gentle or off")
	flags.Lookup("budget").DefValue = "" // else the man page says: default default
	flags.DurationVar(&a.StuckAfter, "stuck-after", 10*time.Minute,
		"report a lock as stuck when held this long while others wait")
	flags.StringVar(&a.Via, "via", "", "connect through a jump host with the system's ssh: `ssh://[user@]host[:port]`")
	flags.BoolVar(&a.NoColor, "no-color", false, "print no colour; the environment variable NO_COLOR does the same")
	root.Flags().BoolVar(&a.Write, "write", false, "allow actions on locks from the screen")
	screen.LinearFlag(root, &a.Linear)
	app.Complete(root, "budget", "default", "gentle", "off")
	_ = root.RegisterFlagCompletionFunc("profile", a.CompleteProfile)
}

// labFor makes the screen's lab, which takes locks.
func labFor(a *app.App) screen.LabMaker {
	return func(s app.Setup, forget func(inspect.ID), armed func() bool) screen.Lab {
		return hold.NewLab(a, s, forget, armed)
	}
}

// commands in the order of the help.
func commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{
		screen.Demo(a, labFor(a)),
		look.Ls(a),
		look.Show(a),
		look.Watch(a),
		look.Export(a),
		record.Record(a),
		screen.Replay(a),
		record.Diff(a),
		record.Bundle(a),
		look.Doctor(a),
		look.Explain(a),
		hold.Acquire(a),
		act.Release(a),
		act.TTL(a),
		act.Ask(a),
		act.KillClient(a),
		look.Candidates(a),
		act.Sweep(a),
		look.Mute(a),
		look.Unmute(a),
		look.Audit(a),
		hold.Contend(a),
		configCommand(a),
		manCommand(a),
		versionCommand(a),
	}
}

func checkOptions(a *app.App) error {
	if a.Timeout <= 0 {
		return app.Usagef("--timeout %v: use a time above 0, such as 10s", a.Timeout)
	}
	if a.Budget != "default" && a.Budget != "gentle" && a.Budget != "off" {
		return app.Usagef("--budget %q: use default, gentle or off", a.Budget)
	}
	return nil
}
