package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/finding"
	"lockscope/internal/config"
	"lockscope/lockops/act"
)

// muteEntry is a mute as the state directory keeps it, and as mute prints it.
type muteEntry struct {
	Lock    string    `json:"lock"`
	Finding string    `json:"finding"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// mutesPath is the file of the mutes, beside the audit file.
func (a *app) mutesPath() (string, error) {
	audit, err := act.DefaultAuditPath(a.Getenv)
	return filepath.Join(filepath.Dir(audit), "mutes.json"), err
}

// readMutes are the mutes that have not ended. A file that is not there has none.
func (a *app) readMutes() ([]muteEntry, error) {
	path, err := a.mutesPath()
	if err != nil {
		return nil, err
	}
	text, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mutes: %w", err)
	}
	var list []muteEntry
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("mutes: %s: %w (mend or remove it)", path, err)
	}
	now := a.Now()
	return slices.DeleteFunc(list, func(m muteEntry) bool { return !now.Before(m.Until) }), nil
}

// changeMutes replaces the mutes by what change makes of them. Other processes wait meanwhile, so that none
// undoes what another has written.
func (a *app) changeMutes(change func([]muteEntry) ([]muteEntry, error)) error {
	path, err := a.mutesPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("mutes: %w", err)
	}
	// A file of its own: that of the mutes is replaced, and with it a lock on it.
	turn, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("mutes: %w", err)
	}
	defer turn.Close()
	defer act.LockFile(turn)()
	list, err := a.readMutes()
	if err != nil {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	return writeMutes(path, list)
}

// writeMutes puts a new file in the place of the old one.
func writeMutes(path string, list []muteEntry) error {
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "mutes-*") // mode 0600
	if err != nil {
		return fmt.Errorf("mutes: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("mutes: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// mutes are those that a look is to know. One that cannot be read hides nothing: all is reported as it is.
func (a *app) mutes() []inspect.Mute {
	list, err := a.readable()
	if err != nil {
		a.say("%v", err)
	}
	return list
}

// readable are the mutes that can be read; the error names the others.
func (a *app) readable() ([]inspect.Mute, error) {
	entries, err := a.readMutes()
	if err != nil {
		return nil, fmt.Errorf("%w (nothing is muted)", err)
	}
	var list []inspect.Mute
	var failed []error
	for _, m := range entries {
		id, err := mutedID(m.Lock)
		if err != nil {
			failed = append(failed, fmt.Errorf("mutes: %q: %w", m.Lock, err))
			continue
		}
		list = append(list, inspect.Mute{Lock: id, Rule: m.Finding, Muted: inspect.Muted{Until: m.Until, Reason: m.Reason, By: m.By}})
	}
	return list, errors.Join(failed...)
}

// mutesBeat is the interval in which what runs for long looks for new mutes.
const mutesBeat = 2 * time.Second

// watchWithMutes runs an observer of a command that runs for long: what others mute or unmute meanwhile
// counts there, too.
func (a *app) watchWithMutes(ctx context.Context, observer *inspect.Observer) error {
	following, stop := context.WithCancel(ctx)
	var follower sync.WaitGroup
	follower.Go(func() { a.followMutes(following, observer) })
	defer follower.Wait()
	defer stop()
	return observer.Run(ctx)
}

// followMutes tells an observer of the mutes whenever their file is another, until ctx ends. One that cannot
// be read mutes nothing.
func (a *app) followMutes(ctx context.Context, observer *inspect.Observer) {
	path, err := a.mutesPath()
	if err != nil {
		return
	}
	var last os.FileInfo // it is read once more at first: it may have changed since the command read it
	beat := time.NewTicker(mutesBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		now, _ := os.Stat(path)
		if now == nil && last == nil || now != nil && last != nil && os.SameFile(now, last) && now.ModTime().Equal(last.ModTime()) {
			continue
		}
		last = now
		list, _ := a.readable() // said when the next command starts: a screen is in front
		observer.Mute(list)
	}
}

// mutedID is a lock's id, or with the name of a backend alone that of the backend.
func mutedID(text string) (inspect.ID, error) {
	if !strings.Contains(text, ":") {
		return inspect.ID{Backend: text}, nil
	}
	return inspect.ParseID(text)
}

// mute is one run of the commands mute and unmute.
type mute struct {
	*app
	span   time.Duration
	reason string
	output string
}

func (a *app) muteCommand() *cobra.Command {
	r := &mute{app: a}
	command := &cobra.Command{
		Use:   "mute [LOCK FINDING]",
		Short: "Acknowledge a finding for a while, or list what is muted",
		Long: "Acknowledge a finding on a lock (or, by its name alone, on a backend) until an end: it is reported as muted, and doctor\n" +
			"does not exit with 1 because of it. Without arguments: list what is muted.",
		Example: "  lockscope mute zk:/locks/orders stuck-holder --for 2h --reason 'reindexing, see OPS-7'\n" +
			"  lockscope mute\n" +
			"  lockscope unmute zk:/locks/orders stuck-holder",
		Args: lockAndFinding(true), ValidArgsFunction: a.completeFinding,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf(r.output, "text", "json"); err != nil {
				return err
			}
			if len(args) == 0 {
				return r.list()
			}
			return r.mute(args[0], args[1])
		},
	}
	flags := command.Flags()
	flags.DurationVar(&r.span, "for", 0, "how long, such as 2h")
	flags.StringVar(&r.reason, "reason", "", "why, as `TEXT`")
	outputFlag(command, &r.output, "text", "json")
	return command
}

func (a *app) unmuteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unmute LOCK FINDING",
		Short: "Have a muted finding call again",
		Example: "  lockscope unmute zk:/locks/orders stuck-holder\n" +
			"  lockscope unmute redis:lock:report no-ttl",
		Args: lockAndFinding(false), ValidArgsFunction: a.completeMuted,
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := mutedID(args[0])
			if err != nil {
				return err
			}
			return a.changeMutes(func(all []muteEntry) ([]muteEntry, error) {
				kept := withoutMute(slices.Clone(all), id, args[1])
				if len(kept) == len(all) {
					return nil, exit(exitNo, "%s: %s is not muted", mutedText(id), args[1])
				}
				return kept, nil
			})
		},
	}
}

// lockAndFinding checks the arguments of mute and unmute; none: there may be no argument.
func lockAndFinding(none bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case none && len(args) == 0:
			return nil
		case len(args) != 2:
			return usageError("give LOCK and FINDING, such as: zk:/locks/orders stuck-holder")
		}
		if _, err := mutedID(args[0]); err != nil {
			return err
		}
		named := func(rule string) bool {
			return slices.ContainsFunc(finding.Rules(), func(r inspect.Rule) bool { return r.Name == rule })
		}
		switch {
		case named(args[1]):
			return nil
		case named(args[0]):
			return usageError("the lock comes first: %s %s", describe.Quote(args[1]), args[0])
		}
		return usageError("there is no finding %q (docs/findings.md lists them)", args[1])
	}
}

// longestMute is so short that nobody forgets what is muted.
const longestMute = 30 * 24 * time.Hour

func (r *mute) mute(lock, rule string) error {
	switch {
	case r.span <= 0 || r.span > longestMute:
		return usageError("--for %v: give a time up to 720h, such as 2h", r.span)
	case strings.TrimSpace(r.reason) == "":
		return usageError("--reason is missing: say why, for whoever looks next")
	}
	id, err := mutedID(lock)
	if err != nil {
		return err
	}
	added, err := r.addMutes([]inspect.Mute{{Lock: id, Rule: rule, Muted: inspect.Muted{Until: r.Now().Add(r.span), Reason: strings.TrimSpace(r.reason)}}})
	if err != nil {
		return err
	}
	return r.print(added)
}

// addMutes keeps mutes of this user, in place of those of the same findings. Their ends are kept to the second.
func (a *app) addMutes(list []inspect.Mute) ([]muteEntry, error) {
	by := cmp.Or(act.UserName(), "unknown")
	now := a.Now().UTC().Truncate(time.Second)
	added := make([]muteEntry, len(list))
	for i, m := range list {
		added[i] = muteEntry{Lock: mutedText(m.Lock), Finding: m.Rule, Until: m.Until.UTC().Truncate(time.Second), Reason: m.Reason, By: by, At: now}
	}
	return added, a.changeMutes(func(all []muteEntry) ([]muteEntry, error) { return append(withoutMutes(all, list), added...), nil })
}

// screenMutes mutes findings for the screen, which hears of it at once.
type screenMutes struct {
	app      *app
	observer *inspect.Observer
}

// Mute implements release.Mutes.
func (s screenMutes) Mute(_ context.Context, list []inspect.Mute) error {
	for _, m := range list {
		if span := m.Until.Sub(s.app.Now()); span <= 0 || span > longestMute {
			return errors.New("give a time up to 720h, such as 2h")
		}
	}
	_, err := s.app.addMutes(list)
	return s.follow(err)
}

// Unmute implements release.Mutes.
func (s screenMutes) Unmute(_ context.Context, list []inspect.Mute) error {
	return s.follow(s.app.changeMutes(func(all []muteEntry) ([]muteEntry, error) { return withoutMutes(all, list), nil }))
}

// follow has the observer go by the mutes as they are now.
func (s screenMutes) follow(err error) error {
	if err != nil {
		return err
	}
	list, err := s.app.readable()
	s.observer.Mute(list)
	return err
}

// withoutMutes are the mutes but for those of some findings.
func withoutMutes(all []muteEntry, list []inspect.Mute) []muteEntry {
	for _, m := range list {
		all = withoutMute(all, m.Lock, m.Rule)
	}
	return all
}

// withoutMute are the mutes but for one.
func withoutMute(list []muteEntry, id inspect.ID, rule string) []muteEntry {
	return slices.DeleteFunc(list, func(m muteEntry) bool { return m.Lock == mutedText(id) && m.Finding == rule })
}

// mutedText is the reverse of mutedID.
func mutedText(id inspect.ID) string {
	if id.Path == "" {
		return id.Backend
	}
	return id.String()
}

func (r *mute) list() error {
	list, err := r.readMutes()
	if err != nil {
		return err
	}
	return r.print(list)
}

func (r *mute) print(list []muteEntry) error {
	if r.output == "json" {
		return r.printJSON(append([]muteEntry{}, list...))
	}
	for _, m := range list {
		line := fmt.Sprintf("%s  %s  until %s  by %s: %s", m.Lock, m.Finding, m.Until.UTC().Format(time.RFC3339), m.By, m.Reason)
		fmt.Fprintln(r.Stdout, describe.Printable(line))
	}
	return nil
}
