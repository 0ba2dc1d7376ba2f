package look

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/finding"
)

// mute is one run of the commands mute and unmute.
type mute struct {
	*app.App
	span   time.Duration
	reason string
	output string
}

func Mute(a *app.App) *cobra.Command {
	r := &mute{App: a}
	command := &cobra.Command{
		Use:   "mute [LOCK FINDING] [TARGET…]",
		Short: "Mute a finding for a while, or list what is muted",
		Long: "Mute a finding on a lock, or on a backend given by name, for a while. It is then reported as muted, and\n" +
			"doctor does not exit with 1 because of it. Without arguments, list what is muted.\n\n" +
			"A mute applies to the servers of TARGET, or of the profile's target with the backend's name. Without\n" +
			"either, it applies to every backend of that name.",
		Example: "  lockscope mute zk:/locks/orders stuck-holder --for 2h --reason 'reindexing, see OPS-7'\n" +
			"  lockscope mute\n" +
			"  lockscope unmute zk:/locks/orders stuck-holder",
		Args: lockAndFinding(true), ValidArgsFunction: a.CompleteFinding,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return r.list()
			}
			return r.mute(args[0], args[1], args[2:])
		},
	}
	flags := command.Flags()
	flags.DurationVar(&r.span, "for", 0, "how long, such as 2h")
	flags.StringVar(&r.reason, "reason", "", "`TEXT` that says why")
	app.OutputFlag(command, &r.output, "text", "json")
	return command
}

func Unmute(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unmute LOCK FINDING [TARGET…]",
		Short: "Unmute a finding",
		Example: "  lockscope unmute zk:/locks/orders stuck-holder\n" +
			"  lockscope unmute redis:lock:report no-ttl",
		Args: lockAndFinding(false), ValidArgsFunction: a.CompleteMuted,
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := app.MutedID(args[0])
			if err != nil {
				return err
			}
			s, err := a.SetUpMutes(id, args[2:])
			if err != nil {
				return err
			}
			removed, err := a.RemoveMutes(s, []inspect.Mute{{Lock: id, Rule: args[1]}})
			if err == nil && removed == 0 {
				err = app.Exitf(app.ExitNo, "%s: %s is not muted", app.MutedText(id), args[1])
			}
			return err
		},
	}
}

// lockAndFinding checks the arguments of mute and unmute; with none, both may be missing.
func lockAndFinding(none bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case none && len(args) == 0:
			return nil
		case len(args) < 2:
			return app.Usagef("name LOCK and FINDING, such as: zk:/locks/orders stuck-holder")
		}
		if _, err := app.MutedID(args[0]); err != nil {
			return err
		}
		named := func(rule string) bool {
			return slices.ContainsFunc(finding.Rules(), func(r inspect.Rule) bool { return r.Name == rule })
		}
		switch {
		case named(args[1]):
			return nil
		case named(args[0]):
			return app.Usagef("the lock comes first: %s %s", describe.Quote(args[1]), args[0])
		}
		return app.Usagef("there is no finding %q (docs/findings.md lists them)", args[1])
	}
}

func (r *mute) mute(lock, rule string, targets []string) error {
	switch {
	case r.span <= 0 || r.span > app.LongestMute:
		return app.Usagef("--for %v: use a time up to 720h, such as 2h", r.span)
	case strings.TrimSpace(r.reason) == "":
		return app.Usagef("--reason is missing: say why it is muted")
	}
	id, err := app.MutedID(lock)
	if err != nil {
		return err
	}
	s, err := r.SetUpMutes(id, targets)
	if err != nil {
		return err
	}
	added, err := r.AddMutes(s, []inspect.Mute{{
		Lock: id, Rule: rule,
		Muted: inspect.Muted{Until: r.Now().Add(r.span), Reason: strings.TrimSpace(r.reason)},
	}})
	if err != nil {
		return err
	}
	return r.print(added)
}

func (r *mute) list() error {
	list, err := r.ReadMutes()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(r.Stderr, "Nothing is muted.")
	}
	return r.print(list)
}

func (r *mute) print(list []app.MuteEntry) error {
	if r.output == "json" {
		return r.PrintJSON(append([]app.MuteEntry{}, list...))
	}
	for _, m := range list {
		line := fmt.Sprintf("%s  %s  until %s  by %s: %s", m.Lock, m.Finding, m.Until.UTC().Format(time.RFC3339), m.By,
			m.Reason)
		if len(m.Servers) > 0 {
			line += " (on " + strings.Join(m.Servers, ",") + ")"
		}
		fmt.Fprintln(r.Stdout, describe.Printable(line))
	}
	return nil
}
