package app

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
)

// How long pressing TAB may take, and how many names it offers.
const (
	completeWithin = time.Second
	completeAtMost = 200
)

// offers collects the completions of a word: names that start with it, each once.
type offers struct {
	start string
	names []cobra.Completion
}

// add offers a name with a note, unless a shell would act on one of its characters.
func (o *offers) add(name, note string) {
	if len(o.names) == completeAtMost || !strings.HasPrefix(name, o.start) || !isPlain(name) {
		return
	}
	same := func(n cobra.Completion) bool { return n == name || strings.HasPrefix(n, name+"\t") }
	if slices.ContainsFunc(o.names, same) {
		return
	}
	if note != "" {
		name = cobra.CompletionWithDesc(name, completionNote(note))
	}
	o.names = append(o.names, name)
}

// CompleteLock completes LOCK from the locks of the profile, and the targets after it by their
// schemes.
func (a *App) CompleteLock(
	cmd *cobra.Command, args []string, start string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return CompleteTarget(cmd, args, start)
	}
	return a.completeOf(cmd.Context(), "", nil, start, func(l *inspect.Lock, o *offers) {
		o.add(l.ID.String(), describe.StateWord(l.State)+", "+render.Holder(l))
	})
}

// completeOf completes a word from a look at one lock.
func (a *App) completeOf(
	ctx context.Context, lock string, targets []string, start string, offer func(*inspect.Lock, *offers),
) ([]cobra.Completion, cobra.ShellCompDirective) {
	o := offers{start: start}
	if s, ok := a.glance(ctx, targets, lock); ok {
		for l := range s.Locks() {
			offer(l, &o)
		}
	}
	return o.names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteFinding completes LOCK, then the findings on it.
func (a *App) CompleteFinding(
	cmd *cobra.Command, args []string, start string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.CompleteLock(cmd, args, start)
	}
	return a.completeOf(cmd.Context(), args[0], nil, start, func(l *inspect.Lock, o *offers) {
		for _, f := range l.Findings {
			o.add(f.Rule, "")
		}
	})
}

// CompleteMuted completes LOCK and FINDING from the mutes.
func (a *App) CompleteMuted(
	_ *cobra.Command, args []string, start string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	muted, _ := a.ReadMutes() // unreadable mutes are not offered
	o := offers{start: start}
	for _, m := range muted {
		switch {
		case len(args) == 0:
			o.add(m.Lock, "")
		case len(args) == 1 && m.Lock == args[0]:
			o.add(m.Finding, "")
		}
	}
	return o.names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteOwner completes the name of a contender of the given lock.
func (a *App) CompleteOwner(
	cmd *cobra.Command, args []string, start string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeOf(cmd.Context(), args[0], args[1:], start, func(l *inspect.Lock, o *offers) {
		for c := range l.Contenders {
			o.add(c.Argument().String(), c.State.String()+", "+c.Who().String())
		}
	})
}

// CompleteTarget completes the scheme of a target.
func CompleteTarget(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
			"zk://", "zks://", "redis://", "rediss://", "redis+sentinel://", "redis+cluster://",
			"redis+unix:///",
		},
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteTargetOrFile is CompleteTarget for commands that also take a recording: if no scheme
// matches, the shell completes files.
func CompleteTargetOrFile(
	cmd *cobra.Command, args []string, start string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, _ := CompleteTarget(cmd, args, start)
	targets := slices.DeleteFunc(all, func(t cobra.Completion) bool { return !strings.HasPrefix(t, start) })
	if len(targets) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return targets, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteProfile completes the names of profiles.
func (a *App) CompleteProfile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, cfg, _ := a.configuration(true) // an unreadable configuration has no profiles
	return slices.Sorted(maps.Keys(cfg.Profiles)), cobra.ShellCompDirectiveNoFileComp
}

// OutputFlag adds the flag -o, whose default is the first form. Other forms are refused.
func OutputFlag(command *cobra.Command, output *string, forms ...string) {
	last := len(forms) - 1
	command.Flags().StringVarP(output, "output", "o", forms[0], strings.Join(forms[:last], ", ")+" or "+forms[last])
	Complete(command, "output", forms...)
	next := command.PreRunE
	command.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains(forms, *output):
			return Usagef("-o %q: use one of %s", *output, strings.Join(forms, ", "))
		case next != nil:
			return next(cmd, args)
		}
		return nil
	}
}

// Complete completes the values of a flag.
func Complete(command *cobra.Command, flag string, values ...string) {
	// It fails only for a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// glance reads what it can within a second, silently; only one lock unless lock is empty.
func (a *App) glance(ctx context.Context, targets []string, lock string) (*inspect.Snapshot, bool) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	quiet := *a
	quiet.Stderr, quiet.Timeout = io.Discard, completeWithin
	quiet.Budget = cmp.Or(quiet.Budget, "default")
	s, err := quiet.SetUp(ctx, targets)
	if err != nil {
		return nil, false
	}
	only := ""
	if lock != "" {
		id, err := inspect.ParseID(lock)
		if err != nil {
			return nil, false
		}
		target, err := s.BackendOf(id)
		if err != nil {
			return nil, false
		}
		s.Targets, only = []connect.Target{target}, id.Path
	}
	observer, err := quiet.Observer(s, true, only)
	if err != nil || observer.Run(ctx) != nil {
		return nil, false
	}
	return observer.Snapshot(), true
}

// isPlain reports whether no shell acts on any character of a name, however its completion
// script quotes the name: names come from servers.
func isPlain(name string) bool { return !strings.ContainsAny(name, " \\'\"`$&|;<>()*?[]!~,\t\r\n") }

// completionNote is a completion's description, short and without a tab, which would end it.
func completionNote(text string) string {
	return inspect.Untrusted(strings.ReplaceAll(text, `\`, "")).Cut(60)
}
