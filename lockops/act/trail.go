package act

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Record is one action with all of its audit lines.
type Record struct {
	// At is the time of its first line; Ended of its last, nil if there is only one.
	At    time.Time  `json:"at"`
	Ended *time.Time `json:"ended"`
	// Action is release, ttl, ask, kill-client, sweep or acquire.
	Action string `json:"action"`
	// Lock as BACKEND:PATH, escaped; Owner is the name of the contender acted on or, on Redis, the digest of the value.
	Lock  string `json:"lock"`
	Owner string `json:"owner"`
	// Servers of the lock's backend, as they were given then.
	Servers []string `json:"-"`
	// User and Host of the operator, the profile, how the action was confirmed, and the reason given for it.
	User      string `json:"user"`
	Host      string `json:"host"`
	Profile   string `json:"profile"`
	Confirmed string `json:"confirmed"`
	Why       string `json:"why"`
	// Outcome is done, refused, failed or unknown; of an acquire: acquired, released or lost. It is
	// also unknown if the program ended between the two lines.
	Outcome string `json:"outcome"`
	// Reason of a refusal; Detail and Error add to the outcome, escaped.
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
	Error  string `json:"error"`
	// Lines as they are in the file.
	Lines []json.RawMessage `json:"lines"`
	// Sudo is the user who became User with sudo; empty if none did.
	Sudo string `json:"-"`
}

// Trail is an audit file as it was read.
type Trail struct {
	// Records in the order of their first lines.
	Records []Record
	// Damaged counts lines that cannot be read: cut by a full disk, or not written by this program.
	Damaged int
	// Breaks are lines that were edited, cut or moved, or that follow missing lines.
	Breaks []Break
	// Last is the sum of the last line; empty without lines. See Has.
	Last string
	sums map[string]bool
}

// Has reports whether a line with this sum is there. A reader who noted the last sum then knows
// that no line up to it is missing.
func (t *Trail) Has(sum string) bool { return t.sums[sum] }

// Break is a line that was changed, or that follows removed, inserted or moved lines.
type Break struct {
	Line int // from 1
	What string
}

// maxAuditLine bounds one line, in bytes: a path of ZooKeeper has at most a megabyte.
const maxAuditLine = 4 << 20

// ReadTrail reads an audit file. A missing file is empty.
func ReadTrail(path string) (Trail, error) {
	r := trailReader{Trail: Trail{sums: make(map[string]bool)}, open: make(map[string]int)}
	f, err := openTrail(path)
	if errors.Is(err, os.ErrNotExist) {
		return r.Trail, nil
	}
	if err == nil {
		err = errors.Join(r.read(f), f.Close())
	}
	if err != nil {
		return r.Trail, fmt.Errorf("audit: %w", err)
	}
	r.Last = r.before
	return r.Trail, nil
}

// openTrail opens a regular file, since opening a pipe would block.
func openTrail(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.Open(path)
}

// trailReader reads a trail line by line.
type trailReader struct {
	Trail
	chain
	open map[string]int // index of each action, by the key that its lines share
}

func (r *trailReader) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxAuditLine)
	for n := 1; lines.Scan(); n++ {
		text := lines.Bytes()
		if len(text) == 0 {
			continue
		}
		var l line
		readable := json.Unmarshal(text, &l) == nil && !l.At.IsZero() && l.Lock != ""
		if sum, own := sumOf(text); own {
			r.sums[sum] = true
		}
		if what := r.broken(text, l.Prev); what != "" {
			r.Breaks = append(r.Breaks, Break{n, what})
		}
		if !readable {
			r.Damaged++
			continue
		}
		r.add(l, json.RawMessage(append([]byte(nil), text...)))
	}
	return lines.Err()
}

// add joins a line to its action.
func (r *trailReader) add(l line, raw json.RawMessage) {
	key := l.ActionID
	at, known := r.open[key]
	if l.Phase == phaseIntent || l.Phase == phaseAcquired || !known {
		at = len(r.Records)
		r.open[key] = at
		r.Records = append(r.Records, l.begin())
	}
	r.Records[at].add(l, raw)
}

func (l *line) begin() Record {
	r := Record{
		At: l.At, Action: l.Action, Lock: l.Lock, Owner: l.Owner.Name, User: l.User, Host: l.Host, Profile: l.Profile,
		Servers: l.Servers, Confirmed: l.Confirmed, Why: l.Why, Sudo: l.Sudo, Outcome: "unknown",
	}
	if r.Owner == "" {
		r.Owner = l.Owner.Value
	}
	return r
}

// add joins a line to its action.
func (r *Record) add(l line, raw json.RawMessage) {
	r.Lines = append(r.Lines, raw)
	if len(r.Lines) > 1 {
		r.Ended = &l.At
	}
	r.Reason, r.Detail, r.Error = l.Reason, l.Detail, l.Error
	done := l.Released != nil && *l.Released || l.Set != nil && *l.Set || l.Asked != nil && *l.Asked ||
		l.Ended != nil && *l.Ended
	switch {
	case l.Phase == phaseIntent:
	case l.Phase == phaseAcquired || l.Phase == phaseReleased || l.Phase == phaseLost:
		r.Outcome = string(l.Phase)
	case done:
		r.Outcome = "done"
	case l.Unknown:
		r.Outcome = "unknown"
	case l.Reason != "":
		r.Outcome = "refused"
	default:
		r.Outcome = "failed"
	}
}

// Owned is a lock that the user took by hand, and whose end is recorded, too.
type Owned struct {
	audit *Audit
	line  line
}

// Acquired records that a lock was taken by hand. name is the contender's name; on Redis its digest is written.
func (a *Audit) Acquired(t Target, redis bool, id inspect.ID, name string) (Owned, error) {
	l := line{
		ActionID: actionID(), Action: "acquire", target: t.record(), Lock: id.String(),
		Owner: evidence{Name: inspect.Escape(name)}, Role: inspect.Holding,
	}
	if redis {
		l.Owner, l.DB = evidence{Value: digest(name)}, &t.DB
	} else {
		l.Chroot = &t.Chroot
	}
	return Owned{a, l}, a.write(l.as(phaseAcquired))
}

// Released records a release.
func (o Owned) Released() error { return o.audit.write(o.line.as(phaseReleased)) }

// Lost records that it was lost, and why.
func (o Owned) Lost(why error) error {
	l := o.line.as(phaseLost)
	if why != nil {
		l.Error = inspect.Escape(why.Error())
	}
	return o.audit.write(l)
}
