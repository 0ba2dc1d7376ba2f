package app

import (
	"context"
	"io"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockscope/cli/render"
	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
)

// How long pressing TAB may take, and how many names it offers.
const (
	completeWithin = time.Second
	completeAtMost = 200
)

// CompleteLock completes LOCK from what the targets of the line or, without any, of the profile hold, and the targets
// behind it by their schemes.
func (a *App) CompleteLock(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeSeen(cmd, args, start, func(s *inspect.Snapshot) (names []cobra.Completion) {
		for l := range s.Locks() {
			if id := l.ID.String(); len(names) < completeAtMost && strings.HasPrefix(id, start) && isPlain(id) {
				names = append(names, cobra.CompletionWithDesc(id, completionNote(describe.StateWord(l.State)+", "+render.Holder(l))))
			}
		}
		return names
	})
}

// completeSeen completes the first word by names of what the targets hold, and the targets behind it.
func (a *App) completeSeen(cmd *cobra.Command, args []string, start string, names func(*inspect.Snapshot) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return CompleteTarget(cmd, args, start)
	}
	s, ok := a.glance(cmd.Context(), nil, "")
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(s), cobra.ShellCompDirectiveNoFileComp
}

// CompleteRoot completes the directories above the locks that ZooKeeper holds, and the targets behind.
func (a *App) CompleteRoot(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeSeen(cmd, args, start, func(s *inspect.Snapshot) (names []cobra.Completion) {
		for l := range s.Locks() {
			id := inspect.ID{Backend: l.ID.Backend, Path: path.Dir(l.ID.Path)}.String()
			if len(l.Masters) == 0 && len(names) < completeAtMost && strings.HasPrefix(id, start) && isPlain(id) && !slices.Contains(names, id) {
				names = append(names, id)
			}
		}
		return names
	})
}

// CompleteFinding completes LOCK, and then what is found on it.
func (a *App) CompleteFinding(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.CompleteLock(cmd, args, start)
	}
	id, err := inspect.ParseID(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, ok := a.glance(cmd.Context(), nil, args[0])
	if !ok || s.Lock(id) == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, f := range s.Lock(id).Findings {
		if strings.HasPrefix(f.Rule, start) && !slices.Contains(names, f.Rule) {
			names = append(names, f.Rule)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteMuted completes LOCK and FINDING of what is muted.
func (a *App) CompleteMuted(_ *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	muted, err := a.ReadMutes()
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, m := range muted {
		name := m.Lock
		if len(args) == 1 {
			if name = m.Finding; m.Lock != args[0] {
				continue
			}
		}
		if strings.HasPrefix(name, start) && isPlain(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteClient completes BACKEND:HOST:PORT of Redis clients that hold or wait, and the targets behind it.
func (a *App) CompleteClient(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeSeen(cmd, args, start, func(s *inspect.Snapshot) (names []cobra.Completion) {
		for l := range s.Locks() {
			b := s.Backend(l.ID.Backend)
			if b == nil || b.Kind != inspect.Redis {
				continue
			}
			for _, c := range slices.Concat(l.Holders, l.Waiters) {
				name := l.ID.Backend + ":" + c.Owner.Client
				if _, _, err := net.SplitHostPort(c.Owner.Client); err != nil || !strings.HasPrefix(name, start) || !isPlain(name) {
					continue
				}
				if len(names) < completeAtMost && !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"\t") }) {
					names = append(names, cobra.CompletionWithDesc(name, completionNote(c.State.String()+", "+l.ID.String())))
				}
			}
		}
		return names
	})
}

// CompleteOwner completes the name of a contender of the lock that the line names.
func (a *App) CompleteOwner(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	id, err := inspect.ParseID(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, ok := a.glance(cmd.Context(), args[1:], args[0])
	if !ok || s.Lock(id) == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l := s.Lock(id)
	var names []cobra.Completion
	for _, c := range append(append([]inspect.Contender(nil), l.Holders...), l.Waiters...) {
		name := c.Name.String()
		if c.Digest != "" {
			name = c.Digest
		}
		if strings.HasPrefix(name, start) && isPlain(name) {
			names = append(names, cobra.CompletionWithDesc(name, completionNote(c.State.String()+", "+c.Who().String())))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteTarget offers how a target starts.
func CompleteTarget(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"zk://", "zks://", "redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "redis+unix:///"},
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteTargetOrFile is completeTarget for a command that takes a recording too: where no target starts so, the shell
// completes files.
func CompleteTargetOrFile(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, _ := CompleteTarget(cmd, args, start)
	targets := slices.DeleteFunc(all, func(t cobra.Completion) bool { return !strings.HasPrefix(t, start) })
	if len(targets) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return targets, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteProfile offers the configuration's profiles.
func (a *App) CompleteProfile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, cfg, _ := a.configuration(true) // one that cannot be read has none
	return slices.Sorted(maps.Keys(cfg.Profiles)), cobra.ShellCompDirectiveNoFileComp
}

// OutputFlag gives a command the flag -o with its first form as the default, and completes it.
func OutputFlag(command *cobra.Command, output *string, forms ...string) {
	last := len(forms) - 1
	command.Flags().StringVarP(output, "output", "o", forms[0], strings.Join(forms[:last], ", ")+" or "+forms[last])
	Complete(command, "output", forms...)
}

// Complete offers these values for a flag.
func Complete(command *cobra.Command, flag string, values ...string) {
	// It fails for a flag that is not there only.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// glance reads what can be read in a second and says nothing about the rest. lock is all that is asked for; empty: all.
func (a *App) glance(ctx context.Context, targets []string, lock string) (*inspect.Snapshot, bool) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	quiet := *a
	quiet.Stderr, quiet.Timeout = io.Discard, completeWithin
	if quiet.Budget == "" {
		quiet.Budget = "default"
	}
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

// isPlain reports whether no shell acts on any character of a name, whatever its script makes of what it is
// offered: names come from servers.
func isPlain(name string) bool { return !strings.ContainsAny(name, " \\'\"`$&|;<>()*?[]!~,\t\r\n") }

// completionNote is a completion's description, short and without a tab, which would end it.
func completionNote(text string) string {
	return inspect.Untrusted(strings.ReplaceAll(text, `\`, "")).Cut(60)
}
