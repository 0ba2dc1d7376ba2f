package app

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

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops/act"
)

// MuteEntry is a mute in the mutes file and in the output of mute.
type MuteEntry struct {
	Lock    string    `json:"lock"`
	Finding string    `json:"finding"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	// Servers distinguish backends of the same name; empty means all of that name.
	Servers []string `json:"servers,omitempty"`
}

// on reports whether the mute applies to these targets.
func (m *MuteEntry) on(s Setup) bool {
	backend, _, _ := strings.Cut(m.Lock, ":")
	servers := s.servers(backend)
	return len(m.Servers) == 0 || len(servers) == 0 ||
		slices.ContainsFunc(m.Servers, func(addr string) bool { return slices.Contains(servers, addr) })
}

// servers returns the servers of the target with that name; none if it is not known.
func (s Setup) servers(backend string) []string {
	t, _ := s.Backend(backend)
	return t.Servers
}

// SetUpMutes returns the targets of the arguments or, without arguments, of the profile, if any. It
// reads no secrets. One of the arguments must name the lock's backend.
func (a *App) SetUpMutes(lock inspect.ID, args []string) (s Setup, err error) {
	if len(args) > 0 {
		if s.Targets, err = connect.ParseTargets(args); err == nil {
			_, err = s.Backend(lock.Backend)
		}
		return s, err
	}
	name, cfg, err := a.configuration(true)
	if err != nil || name == "" {
		return s, err
	}
	profile, ok := cfg.Profiles[name]
	if !ok {
		return s, noProfile(name, cfg)
	}
	s.Targets, err = profile.Parsed()
	return s, err
}

// mutesPath is the file of the mutes, next to the audit file.
func (a *App) mutesPath() (string, error) {
	audit, err := act.DefaultAuditPath(a.Getenv)
	return filepath.Join(filepath.Dir(audit), "mutes.json"), err
}

// ReadMutes returns the mutes that have not ended. A missing file has none.
func (a *App) ReadMutes() ([]MuteEntry, error) {
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
	var list []MuteEntry
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("mutes: %s: %w (fix or remove it)", path, err)
	}
	now := a.Now()
	return slices.DeleteFunc(list, func(m MuteEntry) bool { return !now.Before(m.Until) }), nil
}

// changeMutes rewrites the mutes under a lock, so that no process undoes another's change.
func (a *App) changeMutes(change func([]MuteEntry) []MuteEntry) error {
	path, err := a.mutesPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("mutes: %w", err)
	}
	// The lock needs a separate file: the file of the mutes is replaced, and with it any lock on
	// it.
	turn, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("mutes: %w", err)
	}
	defer turn.Close()
	defer act.LockFile(turn)()
	list, err := a.ReadMutes()
	if err != nil {
		return err
	}
	return writeMutes(path, change(list))
}

// writeMutes replaces the file.
func writeMutes(path string, list []MuteEntry) error {
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

// Mutes returns the mutes for a look. One that cannot be read is reported, and mutes nothing.
func (a *App) Mutes(s Setup) []inspect.Mute {
	list, err := a.LoadMutes(s)
	if err != nil {
		a.Say("%v", err)
	}
	return list
}

// LoadMutes returns the readable mutes for the targets; the error names the others.
func (a *App) LoadMutes(s Setup) ([]inspect.Mute, error) {
	if _, err := a.mutesPath(); err != nil {
		return nil, nil // without a home directory nothing can be muted
	}
	entries, err := a.ReadMutes()
	if err != nil {
		return nil, fmt.Errorf("%w (nothing is muted)", err)
	}
	var list []inspect.Mute
	var failed []error
	for _, m := range entries {
		id, err := MutedID(m.Lock)
		if err != nil {
			failed = append(failed, fmt.Errorf("mutes: %q: %w", m.Lock, err))
			continue
		}
		if !m.on(s) {
			continue
		}
		list = append(list,
			inspect.Mute{Lock: id, Rule: m.Finding, Muted: inspect.Muted{Until: m.Until, Reason: m.Reason, By: m.By}})
	}
	return list, errors.Join(failed...)
}

// mutesBeat is how often a long-running command looks for new mutes.
const mutesBeat = 2 * time.Second

// WatchWithMutes returns a function that runs an observer of the targets, and passes changed mutes
// to it.
func (a *App) WatchWithMutes(s Setup) func(context.Context, *inspect.Observer) error {
	return func(ctx context.Context, observer *inspect.Observer) error {
		following, stop := context.WithCancel(ctx)
		var follower sync.WaitGroup
		follower.Go(func() { a.followMutes(following, s, observer) })
		defer follower.Wait()
		defer stop()
		return observer.Run(ctx)
	}
}

// followMutes passes the mutes to an observer whenever their file changes, until ctx ends.
func (a *App) followMutes(ctx context.Context, s Setup, observer *inspect.Observer) {
	path, err := a.mutesPath()
	if err != nil {
		return
	}
	var last os.FileInfo // nil: the first round reads it again, as it may have changed
	beat := time.NewTicker(mutesBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		now, _ := os.Stat(path)
		if now == nil && last == nil ||
			now != nil && last != nil && os.SameFile(now, last) && now.ModTime().Equal(last.ModTime()) {
			continue
		}
		last = now
		list, _ := a.LoadMutes(s) // the next command reports the error: here the screen covers it
		observer.Mute(list)
	}
}

// MutedID parses a lock's id, or the name of a backend.
func MutedID(text string) (inspect.ID, error) {
	if !strings.Contains(text, ":") {
		return inspect.ID{Backend: text}, nil
	}
	return inspect.ParseID(text)
}

// LongestMute is the longest time for which a finding can be muted.
const LongestMute = 30 * 24 * time.Hour

// AddMutes stores mutes of this user, replacing those of the same findings. Ends are cut to the
// second.
func (a *App) AddMutes(s Setup, list []inspect.Mute) ([]MuteEntry, error) {
	by := cmp.Or(act.UserName(), "unknown")
	now := a.Now().UTC().Truncate(time.Second)
	added := make([]MuteEntry, len(list))
	for i, m := range list {
		added[i] = MuteEntry{
			Lock: MutedText(m.Lock), Finding: m.Rule, Until: m.Until.UTC().Truncate(time.Second),
			Reason: m.Reason, By: by, At: now, Servers: s.servers(m.Lock.Backend),
		}
	}
	return added, a.changeMutes(func(all []MuteEntry) []MuteEntry {
		return append(withoutMutes(s, all, list), added...)
	})
}

// RemoveMutes removes the mutes of some findings and returns their number.
func (a *App) RemoveMutes(s Setup, list []inspect.Mute) (removed int, err error) {
	return removed, a.changeMutes(func(all []MuteEntry) []MuteEntry {
		kept := withoutMutes(s, all, list)
		removed = len(all) - len(kept)
		return kept
	})
}

// withoutMutes returns all mutes except those of some findings on the targets.
func withoutMutes(s Setup, all []MuteEntry, list []inspect.Mute) []MuteEntry {
	return slices.DeleteFunc(slices.Clone(all), func(m MuteEntry) bool {
		return m.on(s) && slices.ContainsFunc(list,
			func(o inspect.Mute) bool { return m.Lock == MutedText(o.Lock) && m.Finding == o.Rule })
	})
}

// MutedText is the reverse of MutedID.
func MutedText(id inspect.ID) string {
	if id.Path == "" {
		return id.Backend
	}
	return id.String()
}
