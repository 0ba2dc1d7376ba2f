package act

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"
)

// Audit is the append-only file that every action is written to, one JSON object a line, before it is done and
// after. Make one with OpenAudit.
type Audit struct {
	mu    sync.Mutex
	file  *os.File
	actor actor
}

// actor is who acts: the same in every line of a run.
type actor struct {
	User    string `json:"user"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Profile string `json:"profile"`
}

// line is one line of the file.
type line struct {
	At    time.Time `json:"at"`
	Phase string    `json:"phase"` // intent or result
	actor
	Action  string   `json:"action"`
	Servers []string `json:"servers"`
	Lock    string   `json:"lock"`
	Owner   evidence `json:"owner"`
	// Confirmed says how the operator confirmed: typed, yes.
	Confirmed string         `json:"confirmed"`
	Released  *bool          `json:"released,omitempty"`
	Reason    Reason         `json:"reason,omitempty"`
	Masters   []masterRecord `json:"masters,omitempty"`
	Error     string         `json:"error,omitempty"`
}

// evidence identifies what was acted on. A Redis value is a secret of its owner: only its digest is written.
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
	Error   string `json:"error"`
}

// DefaultAuditPath is $XDG_STATE_HOME/lockscope/audit.jsonl, below ~/.local/state where that is not set.
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

// OpenAudit opens the file for appending, mode 0600, and makes its directory. version and profile go into each line.
func OpenAudit(path, version, profile string) (*Audit, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if err := f.Chmod(0o600); path != os.DevNull && err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	a := actor{PID: os.Getpid(), Version: version, Profile: profile}
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	}
	a.Host, _ = os.Hostname() // empty says unknown
	return &Audit{file: f, actor: a}, nil
}

// write appends one line and waits until the disk has it.
func (a *Audit) write(l line) error {
	l.actor = a.actor
	l.At = time.Now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if err := a.file.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// Close closes the file.
func (a *Audit) Close() error { return a.file.Close() }
