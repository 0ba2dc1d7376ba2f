package cli

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

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
)

// How long pressing TAB may take, and how many names it offers.
const (
	completeWithin = time.Second
	completeAtMost = 200
)

// completeLock completes LOCK from what the targets of the line or, without any, of the profile hold, and the targets
// behind it by their schemes.
func (a *app) completeLock(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeSeen(cmd, args, start, func(s *inspect.Snapshot) (names []cobra.Completion) {
		for l := range s.Locks() {
			if id := l.ID.String(); len(names) < completeAtMost && strings.HasPrefix(id, start) && isPlain(id) {
				names = append(names, cobra.CompletionWithDesc(id, completionNote(describe.StateWord(l.State)+", "+holder(l))))
			}
		}
		return names
	})
}

// completeSeen completes the first word by names of what the targets hold, and the targets behind it.
func (a *app) completeSeen(cmd *cobra.Command, args []string, start string, names func(*inspect.Snapshot) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return completeTarget(cmd, args, start)
	}
	s, ok := a.glance(cmd.Context(), nil, "")
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(s), cobra.ShellCompDirectiveNoFileComp
}

// completeRoot completes the directories above the locks that ZooKeeper holds, and the targets behind.
func (a *app) completeRoot(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// completeFinding completes LOCK, and then what is found on it.
func (a *app) completeFinding(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeLock(cmd, args, start)
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

// completeMuted completes LOCK and FINDING of what is muted.
func (a *app) completeMuted(_ *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	muted, err := a.readMutes()
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

// completeClient completes BACKEND:HOST:PORT of Redis clients that hold or wait, and the targets behind it.
func (a *app) completeClient(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// completeOwner completes the name of a contender of the lock that the line names.
func (a *app) completeOwner(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// completeTarget offers how a target starts.
func completeTarget(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"zk://", "zks://", "redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "redis+unix:///"},
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeTargetOrFile is completeTarget for a command that takes a recording too: where no target starts so, the shell
// completes files.
func completeTargetOrFile(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, _ := completeTarget(cmd, args, start)
	targets := slices.DeleteFunc(all, func(t cobra.Completion) bool { return !strings.HasPrefix(t, start) })
	if len(targets) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return targets, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeProfile offers the configuration's profiles.
func (a *app) completeProfile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, cfg, _ := a.configuration(true) // one that cannot be read has none
	return slices.Sorted(maps.Keys(cfg.Profiles)), cobra.ShellCompDirectiveNoFileComp
}

// outputFlag gives a command the flag -o with its first form as the default, and completes it.
func outputFlag(command *cobra.Command, output *string, forms ...string) {
	last := len(forms) - 1
	command.Flags().StringVarP(output, "output", "o", forms[0], strings.Join(forms[:last], ", ")+" or "+forms[last])
	complete(command, "output", forms...)
}

// complete offers these values for a flag.
func complete(command *cobra.Command, flag string, values ...string) {
	// It fails for a flag that is not there only.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// glance reads what can be read in a second and says nothing about the rest. lock is all that is asked for; empty: all.
func (a *app) glance(ctx context.Context, targets []string, lock string) (*inspect.Snapshot, bool) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	quiet := *a
	quiet.Stderr, quiet.timeout = io.Discard, completeWithin
	if quiet.budget == "" {
		quiet.budget = "default"
	}
	s, err := quiet.setUp(ctx, targets)
	if err != nil {
		return nil, false
	}
	only := ""
	if lock != "" {
		id, err := inspect.ParseID(lock)
		if err != nil {
			return nil, false
		}
		target, err := s.backendOf(id)
		if err != nil {
			return nil, false
		}
		s.targets, only = []connect.Target{target}, id.Path
	}
	observer, err := quiet.observer(s, true, only)
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
