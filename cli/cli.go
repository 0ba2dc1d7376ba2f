// Package cli is the command line: commands, flags, output and exit codes. Each command is one file; what they print
// and return is a contract that other people's scripts rely on.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/config"
	"lockscope/internal/connect"
	"lockscope/internal/redisreply"
)

// The exit codes of the contract. COMMAND's own code is passed on by acquire.
const (
	exitNo          = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitLost        = 4
	exitInterrupted = 130
)

// Environment holds what the program gets from outside, so that tests can replace it.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
}

// OS is the environment of the running process.
func OS() Environment {
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now}
}

// Main runs one command line, without the program's name, until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, args []string, env Environment) int {
	redis.SetLogger(quiet{}) // go-redis would print every failed dial over the screen; each is in the errors we show
	utf8 := speaksUTF8(env.Getenv)
	if !utf8 {
		env.Stderr = &asciiWriter{Writer: env.Stderr}
	}
	app := &app{Environment: env}
	root := app.root()
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil { // cobra prints its help for a shell it does not know
		completion.Args, completion.RunE = noSuchSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if !utf8 {
		root.SetOut(&asciiWriter{Writer: env.Stdout}) // help; the scripts of completion go to what was set before
	}
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	var exit exitError
	if silent := errors.As(err, &exit) && exit.err == nil; err != nil && !silent {
		app.complain(err)
	}
	return code
}

// quiet is a logger of go-redis that says nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// app is one run of the program.
type app struct {
	Environment
	options
}

// options are the global flags.
type options struct {
	profile    string
	config     string
	timeout    time.Duration
	budget     string
	stuckAfter time.Duration
	via        string
	write      bool
	noColor    bool
	linear     bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockscope [TARGET…]",
		Short: "See who holds a distributed lock in ZooKeeper or Redis, who waits, and why",
		Long: "lockscope shows the distributed locks in ZooKeeper and Redis: who holds each, who waits in which order, and\n" +
			"what is wrong. Without a command it opens the screen on its targets:\n\n" +
			"  zk://host:2181[,host:2181…][/root]      a ZooKeeper ensemble\n" +
			"  redis://host:6379[,host:6379…][/db]     one Redis, or independent masters that share locks (Redlock)\n" +
			"  redis+sentinel://host,host/MASTER  redis+cluster://host,host  redis+unix:///path/to.sock\n" +
			"  zks:// rediss:// rediss+sentinel:// rediss+cluster://  with TLS: ?ca=FILE&cert=FILE&key=FILE&server_name=NAME\n\n" +
			"Other options: ?name=NAME, via=ssh://[user@]host (a jump host), of ZooKeeper admin=http://host:8080 (AdminServers) and chroot=/path,\n" +
			"of Redis match=GLOB.",
		Example: "  lockscope demo                                    nothing installed? start here\n" +
			"  lockscope zk://localhost:2181/locks               watch the locks below /locks\n" +
			"  lockscope ls redis://r1:6379,r2:6379,r3:6379      list the locks of three masters\n" +
			"  lockscope show zk:/locks/orders zk://localhost    one lock: holder, queue, who blocks whom",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeTarget,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Version:           Version,
		RunE:              a.screen,
	}
	root.SetVersionTemplate("lockscope {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd == root && len(args) > 0 && !strings.Contains(args[0], "://") {
			return noCommand(root, args[0]) // the flags are those of the command that was meant
		}
		return usageError("%v (see %s --help)", err, cmd.CommandPath())
	})
	a.globalFlags(root)
	root.SetHelpCommand(helpCommand(root))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.speakLocale(cmd)
		return a.checkOptions()
	}
	root.AddCommand(a.commands()...)
	return root
}

// globalFlags are those of all commands, and those of the screen.
func (a *app) globalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVarP(&a.profile, "profile", "p", "", "`NAME` of a profile of the configuration")
	flags.StringVar(&a.config, "config", "", "configuration `FILE`")
	flags.DurationVar(&a.timeout, "timeout", 10*time.Second, "give up on a server after this time without progress")
	flags.StringVar(&a.budget, "budget", "default", "pace of reading: default, gentle or off")
	flags.DurationVar(&a.stuckAfter, "stuck-after", 10*time.Minute, "a lock held longer while others wait is stuck")
	flags.StringVar(&a.via, "via", "", "reach servers through a host by the system's ssh: `ssh://[user@]host[:port]`")
	flags.BoolVar(&a.noColor, "no-color", false, "no colour (also: the environment's NO_COLOR)")
	root.Flags().BoolVar(&a.write, "write", false, "allow actions on locks from the screen")
	linearFlag(root, &a.linear)
	complete(root, "budget", "default", "gentle", "off")
	_ = root.RegisterFlagCompletionFunc("profile", a.completeProfile)
}

// commands in the order of the help.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.demoCommand(),
		a.lsCommand(),
		a.showCommand(),
		a.watchCommand(),
		a.exportCommand(),
		a.recordCommand(),
		a.replayCommand(),
		a.diffCommand(),
		a.bundleCommand(),
		a.doctorCommand(),
		a.explainCommand(),
		a.acquireCommand(),
		a.releaseCommand(),
		a.ttlCommand(),
		a.askCommand(),
		a.killClientCommand(),
		a.candidatesCommand(),
		a.sweepCommand(),
		a.muteCommand(),
		a.unmuteCommand(),
		a.auditCommand(),
		a.contendCommand(),
		a.configCommand(),
		a.manCommand(),
		a.versionCommand(),
	}
}

func (a *app) checkOptions() error {
	if a.timeout <= 0 {
		return usageError("--timeout %v: give a time above 0, such as 10s", a.timeout)
	}
	if a.budget != "default" && a.budget != "gentle" && a.budget != "off" {
		return usageError("--budget %q: give default, gentle or off", a.budget)
	}
	return nil
}

// exitError ends the program with a code; err is nil when its reason was printed before.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

func exit(code int, format string, args ...any) error {
	return exitError{code, fmt.Errorf(format, args...)}
}

func usageError(format string, args ...any) error { return exit(exitUsage, format, args...) }

// exitCode is the contract's code for an error; what is not known to be bad use is a failure to look or act.
func exitCode(err error) int {
	var e exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, connect.ErrTarget), errors.Is(err, inspect.ErrSyntax), errors.Is(err, config.ErrInvalid):
		return exitUsage
	default:
		return exitUnreachable
	}
}

// complain prints one line on standard error.
func (a *app) complain(err error) {
	text := inWords(err.Error())
	if exitCode(err) == exitUnreachable && connect.Unreachable(err) {
		text = withCheck(text)
	}
	a.say("%s", strings.ReplaceAll(text, "\n", "; "))
}

// inWords is the text of an error without the digest and line of a script, and without Go's words for a
// limit, which only programmers know.
func inWords(text string) string {
	return strings.ReplaceAll(redisreply.WithoutScript(text), context.DeadlineExceeded.Error(), "not done in time")
}

// withCheck adds what to look at when a server cannot be reached, unless an error has that itself, or is a
// reply: to some replies it adds what to do about them. Several servers' errors have ; between them.
func withCheck(text string) string {
	parts := strings.Split(text, "; ")
	last := len(parts) - 1
	for i, part := range parts {
		if _, do := redisreply.Advice(part); do != "" && !strings.HasSuffix(part, ")") {
			parts[i] += " (" + do + ")"
		} else if i == last {
			parts[i] = withAddressCheck(part)
		}
	}
	return strings.Join(parts, "; ")
}

func withAddressCheck(text string) string {
	if strings.HasSuffix(text, ")") || strings.Contains(text, ": ERR ") {
		return text
	}
	return text + " (check the address, and that the server runs)"
}

// say prints a line of news on standard error; whatever it holds is made safe for a terminal.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.Stderr, "lockscope: "+describe.Printable(fmt.Sprintf(format, args...)))
}

// terminal returns the width of w, in cells; false when w is no terminal.
func terminal(w any) (width int, ok bool) {
	if out, isWriter := w.(io.Writer); isWriter {
		w = direct(out)
	}
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(f.Fd()) {
		return 0, false
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return 80, true
	}
	return width, true
}

// width of what is printed: the terminal's, in cells; 0, without limit, when it is printed elsewhere.
func (a *app) width() int {
	width, _ := terminal(a.Stdout)
	return width
}
