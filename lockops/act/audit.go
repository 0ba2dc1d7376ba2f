package act

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Audit is the append-only file that records every action before and after it is done, one JSON
// object per line. Each line contains its own sum and that of the previous line. Make one with
// OpenAudit.
type Audit struct {
	now   func() time.Time
	mu    sync.Mutex
	path  string
	file  *os.File
	actor actor
	copy  io.Writer // see CopyTo; may be nil
}

// Target names the servers of a Releaser, for display and for the audit file, and has its clock.
type Target struct {
	// Name of the backend, and its servers as host:port.
	Name    string
	Servers []string
	// Chroot is put before every ZooKeeper path.
	Chroot string
	// DB is the number of the Redis database.
	DB int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (t *Target) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// actor is the user and program of a run, the same in every line.
type actor struct {
	User string `json:"user"`
	// Sudo is the user who became this one with sudo.
	Sudo    string `json:"sudo_user,omitempty"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Profile string `json:"profile"`
}

// target has a chroot only with ZooKeeper, and a db only with Redis.
type target struct {
	Backend string   `json:"backend"`
	Servers []string `json:"servers"`
	Chroot  *string  `json:"chroot,omitempty"`
	DB      *int     `json:"db,omitempty"`
}

// phase of an action that a line records.
type phase string

// The phases: the intent, the result, and a result that came late.
const (
	phaseIntent phase = "intent"
	phaseResult phase = "result"
	phaseLate   phase = "late"
)

// The phases of a lock that was taken by hand.
const (
	phaseAcquired phase = "acquired"
	phaseReleased phase = "released"
	phaseLost     phase = "lost"
)

// line is one line of the file, with a field for each key that any action writes.
type line struct {
	At    time.Time `json:"at"`
	Phase phase     `json:"phase"`
	// ActionID is the same in all lines of one action.
	ActionID string `json:"action_id"`
	actor
	Action string `json:"action"`
	target
	Lock  string   `json:"lock"`
	Owner evidence `json:"owner"`
	// Role is the owner's role that was confirmed: holding, waiting, pending.
	Role inspect.ContenderState `json:"role"`
	// Confirmed is how the operator confirmed: typed, --yes.
	Confirmed string `json:"confirmed"`
	// Why is the operator's reason.
	Why      string `json:"why,omitempty"`
	Released *bool  `json:"released,omitempty"`
	// TwoLeaders means that the former leader continues to lead.
	TwoLeaders bool `json:"two_leaders,omitempty"`
	// TTLMillis is the requested TTL of an action ttl, in milliseconds. Set means that it was set.
	TTLMillis int64 `json:"ttl_ms,omitempty"`
	Set       *bool `json:"set,omitempty"`
	// Ended means that an action kill-client ended a connection.
	Ended *bool `json:"ended,omitempty"`
	// Asked and LetGo are for an action ask.
	Asked *bool `json:"asked,omitempty"`
	LetGo *bool `json:"let_go,omitempty"`
	// Unknown means that the removal was sent and its answer is missing.
	Unknown bool           `json:"unknown,omitempty"`
	Reason  Reason         `json:"reason,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	Masters []masterRecord `json:"masters,omitempty"`
	// HoldersAfter are names on ZooKeeper, digests of values on Redis.
	HoldersAfter []string `json:"holders_after,omitempty"`
	Error        string   `json:"error,omitempty"`
	// Prev is the sum of the previous line, empty in the first one. The line's own sum follows.
	Prev *string `json:"prev,omitempty"`
}

// evidence identifies the contender acted on. A Redis value is a secret of its owner: only its digest is written.
type evidence struct {
	Name    string `json:"name,omitempty"`
	Value   string `json:"value_digest,omitempty"`
	Czxid   string `json:"czxid,omitempty"`
	Session string `json:"session,omitempty"`
	Version *int32 `json:"version,omitempty"`
}

type masterRecord struct {
	Addr    string `json:"addr"`
	Deleted bool   `json:"deleted"`
	Set     bool   `json:"set,omitempty"`
	Ended   Ended  `json:"ended,omitempty"`
	Error   string `json:"error"`
}

func (l line) as(p phase) line {
	l.Phase = p
	return l
}

// outcome returns the result line for this intent.
func (l line) outcome(p phase, r Result, err error) line {
	after := l.as(p)
	after.Unknown, after.Reason, after.Detail = r.Unknown, r.Reason, inspect.Escape(r.Detail)
	switch {
	case l.TTLMillis > 0:
		after.Set = &r.Set
	case l.Action == "ask":
		after.Asked, after.LetGo = &r.Asked, &r.LetGo
	case l.Action == "kill-client":
		after.Ended = &r.Released
	default:
		after.Released = &r.Released
	}
	if err != nil {
		after.Error = inspect.Escape(err.Error())
	}
	for _, m := range r.Masters {
		record := masterRecord{Addr: m.Addr, Deleted: m.Deleted, Set: m.Set, Ended: m.Ended}
		if m.Err != nil {
			record.Error = inspect.Escape(m.Err.Error())
		}
		after.Masters = append(after.Masters, record)
	}
	for i := range r.HoldersAfter {
		name := r.HoldersAfter[i].Name.String()
		if l.DB != nil {
			name = valueDigest(&r.HoldersAfter[i])
		}
		after.HoldersAfter = append(after.HoldersAfter, name)
	}
	return after
}

// actionID is a random number that the lines of one action have in common.
func actionID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// DefaultAuditPath is $XDG_STATE_HOME/lockscope/audit.jsonl, or below ~/.local/state if that is not
// set.
func DefaultAuditPath(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("audit: no home directory: %w (set XDG_STATE_HOME)", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "lockscope", "audit.jsonl"), nil
}

const auditMode fs.FileMode = 0o600

// OpenAudit opens the file for appending, mode 0600, and makes it and its directory. now dates the
// lines; version and profile go into each. A path that is a symbolic link, or not a regular file,
// is refused: a link would let another user choose the file.
func OpenAudit(now func() time.Time, path, version, profile string) (*Audit, error) {
	f, err := openAuditFile(path)
	if err != nil {
		return nil, err
	}
	a := actor{User: UserName(), Sudo: os.Getenv("SUDO_USER"), PID: os.Getpid(), Version: version, Profile: profile}
	a.Host, _ = os.Hostname() // empty means unknown
	return &Audit{now: now, path: path, file: f, actor: a}, nil
}

// own makes sure that the file is ours and that no other user can read it.
func own(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", f.Name())
	case links(info) > 1:
		return fmt.Errorf("%s has a second hard link, so lines would go to another file, too (remove it, "+
			"and a new one is made)", f.Name())
	case foreign(info):
		return fmt.Errorf("%s belongs to another user, who could change it (chown it to yourself, or set "+
			"XDG_STATE_HOME)", f.Name())
	case info.Mode().Perm() != auditMode:
		return f.Chmod(auditMode)
	}
	return nil
}

// write appends one line and waits until it is on disk. It leaves a line cut by a full disk alone
// and begins a new one.
func (a *Audit) write(l line) error {
	if a == nil {
		return errors.New("audit: there is no audit file")
	}
	l.actor = a.actor
	l.At = a.now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	unlock, err := a.current() // other processes write to it, too
	if err != nil {
		return err
	}
	defer unlock()
	prev, cut, err := a.lastLink()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	l.Prev = &prev
	text := append(sealed(l), '\n')
	if cut {
		text = append([]byte{'\n'}, text...)
	}
	var copied error
	if a.copy != nil {
		if _, copied = a.copy.Write(bytes.TrimSpace(text)); copied != nil {
			copied = fmt.Errorf("audit: a copy of the line: %w", copied)
		}
	}
	if copied != nil && l.Phase == phaseIntent { // no action follows, so its intent is not recorded
		return copied
	}
	if _, err := a.file.Write(text); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if err := a.file.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return copied
}

// CopyTo also writes each later line to another place. If the copy fails, no action
// is done. Call it before the first action.
func (a *Audit) CopyTo(place io.Writer) { a.copy = place }

// Close closes the file.
func (a *Audit) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file.Close()
}

func (t Target) record() target {
	return target{Backend: t.Name, Servers: t.Servers}
}
