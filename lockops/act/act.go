// Package act holds the operator's guarded actions on other people's locks. Each works the same
// way: Preview shows what would happen and to whom. Execute does it only if the server still shows
// what the operator saw. It then reads the lock again and reports the holders. A line is written to
// the audit file before and after; without the first, nothing is done.
package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Reason why a release did not happen; empty if it did. The values are the command line's contract.
type Reason string

// The reasons.
const (
	NotHolder Reason = "not-holder" // the named owner waits, and waiters were not allowed
	Changed   Reason = "changed"    // an entry of that name is there, but it is not the one that was seen
	Gone      Reason = "gone"       // the named owner is no longer in the queue
	Declined  Reason = "declined"   // the operator did not confirm
	NoQuorum  Reason = "no-quorum"  // not enough masters deleted it to free the lock
	NoAudit   Reason = "audit"      // the audit file cannot be written
	ReadOnly  Reason = "read-only"  // the profile forbids writing, or the screen no longer allows it
	// Ignored means that the holder was asked to let go, and had not done so when the wait ended.
	Ignored Reason = "ignored"
	// TwoLeaders means that the leader would still lead, alongside the new one, since its library
	// never looks at its entry again.
	TwoLeaders Reason = "two-leaders"
	// Unsupported means that no way is known to release this library's lock from outside; only its
	// holder can end it.
	Unsupported Reason = "unsupported"
)

// Request names the contender to be released, as the operator saw it.
type Request struct {
	ID inspect.ID
	// Lock as it was on the screen; nil if only the owner's name is known, as on the command line.
	Lock *inspect.Lock
	// Owner is the contender's name, or its digest.
	Owner inspect.Untrusted
	// Waiter allows deleting an owner that is waiting; some clients then believe that they hold the
	// lock.
	Waiter bool
	// Elects means that the configuration calls the lock an election. TwoLeaders allows a release
	// after which the former leader continues to lead.
	Elects, TwoLeaders bool
	// TTL to set on the lock's key while its contender keeps it (see CheckTTL); 0 asks for a
	// release. Only Redis keys have a TTL.
	TTL time.Duration
	// Ask asks the holder to let go instead of taking the lock from it, and watches for up to Wait
	// whether it does.
	Ask  bool
	Wait time.Duration
	// Why is the operator's reason, for the audit file; may be empty.
	Why string
}

// action is the request's name in the audit file.
func (r *Request) action() string {
	switch {
	case r.TTL > 0:
		return "ttl"
	case r.Ask:
		return "ask"
	}
	return "release"
}

// Preview shows the effects of a release before it is done.
type Preview struct {
	Request Request
	// Seen is the contender that would be deleted; nil if it is not in the queue (see Refused).
	Seen *inspect.Contender
	// Alike are the contenders whose label, client, host or session is the request's owner, if no
	// contender has that name.
	Alike []inspect.Contender
	// Next is the contender that would get the lock, as it waits now; nil without waiters, or when they cannot be seen.
	Next *inspect.Contender
	// NextUnknown is the reason why Next is not known, escaped for printing. It is empty if Next is
	// known, or there are no waiters.
	NextUnknown string
	// StillHolding counts the other holders of a lock that waiters get only when all have released
	// it, such as readers before a writer.
	StillHolding int
	// Refused is the reason why the action is not possible; empty if it is. Detail adds to it, such
	// as the missing right.
	Refused Reason
	Detail  string
	// TwoLeaders means that the contender would still lead, alongside the new leader, until its
	// client is restarted.
	TwoLeaders bool
	// Sends lists what would be sent, one line each, escaped for printing; scripts and prior checks are
	// described in words.
	Sends []string
	// Warnings say in plain words which client keeps running, and what may be granted twice.
	Warnings []string
	// Votes are the masters' keys as they were read for a request for a TTL; nil for a release.
	Votes []inspect.Vote
	// Others are the effects on the owner's other locks; see Consider.
	Others Others
}

// MasterResult is the outcome on one Redis master.
type MasterResult struct {
	Addr string
	// Deleted means that the master answered that it removed the contender.
	Deleted bool
	// Lacked means that it answered that it does not have the contender. If none of these fields is
	// set, the master was not asked.
	Lacked bool
	// Ended is set if the master did not confirm the removal, but the contender was there right
	// before and is gone now. Err says why there was no confirmation.
	Ended Ended
	// Set means that the TTL was set on this master. OtherExpiry means that the key's expiry had
	// changed since it was seen. After is the key as read afterwards. These apply only to a request
	// for a TTL.
	Set, OtherExpiry bool
	After            inspect.Vote
	Err              error
}

// Result is the outcome of a release, or of setting a TTL.
type Result struct {
	// Released means that the contender was removed, Set that the requested TTL was set.
	Released, Set bool
	// Asked means that the holder was asked to let go, LetGo that it has.
	Asked, LetGo bool
	// Unknown means that the removal was sent and its answer is missing. It may have been executed,
	// or may still be.
	Unknown bool
	// Late delivers at most one Result: the outcome of an Unknown one, if its answer still arrives.
	// It is then closed, at the latest with the Releaser. Nil unless Unknown. The audit file gets
	// the result, too, as a line of phase late.
	Late   <-chan Result
	Reason Reason
	// Detail adds to the reason.
	Detail string
	Seen   *inspect.Contender
	// Next is the contender that was to get the lock, as last seen, holding or waiting.
	Next *inspect.Contender
	// HoldersAfter are the holders after the release, read from the servers again.
	HoldersAfter []inspect.Contender
	// Masters has a result for each Redis master; empty on ZooKeeper.
	Masters []MasterResult

	recorded chan<- struct{} // closed when the result is in the audit file, so that late results follow it
}

// Settled waits for the outcome of an Unknown result until ctx ends; err is the error that Execute
// returned with it. It returns other results, and one that stays unknown, unchanged.
func (r Result) Settled(ctx context.Context, err error) (Result, error) {
	if r.Late == nil {
		return r, err
	}
	select {
	case late, ok := <-r.Late:
		if ok && !late.Unknown {
			return late, nil
		}
	case <-ctx.Done():
	}
	return r, err
}

// ErrUnreachable is wrapped by the errors of servers that could not be asked. If a server refused,
// its error wraps ErrRefused as well. It then refuses until rights or settings change.
var (
	ErrUnreachable = errors.New("server could not be asked")
	ErrRefused     = errors.New("refused by the server")
)

// Releaser force-releases locks of one backend.
type Releaser interface {
	// Preview reads the lock again and returns the effects of Execute. It changes nothing.
	Preview(ctx context.Context, r Request) (Preview, error)
	// Execute does what p shows, if the server still shows the contender that was seen. confirmed
	// is the form of the operator's consent ("typed", "--yes"), for the audit file. A refusal is a
	// Result with a Reason. An error means that a server could not be asked, and Result has the
	// outcome so far. If ctx ends before the removal is sent, nothing is sent.
	Execute(ctx context.Context, p Preview, confirmed string) (Result, error)
}

// audited writes the intent, acts, and writes the result. Without the first line nothing is done.
func audited(a *Audit, intent line, do func() (Result, error)) (Result, error) {
	intent.ActionID = actionID()
	if err := a.write(intent.as(phaseIntent)); err != nil {
		return Result{Reason: NoAudit}, err
	}
	result, err := do()
	if result.recorded != nil {
		defer close(result.recorded)
	}
	if auditErr := a.write(intent.outcome(phaseResult, result, err)); auditErr != nil {
		err = errors.Join(err, fmt.Errorf("%s, but this could not be written: %w", happened(result), auditErr))
	}
	return result, err
}

// happened describes a result for an error about an audit line that could not be written.
func happened(r Result) string {
	switch {
	case r.Unknown:
		return "unknown whether it was done"
	case r.Released, r.Set, r.Asked:
		return "it was done"
	default:
		return "nothing was done"
	}
}

// NoNext says why Next is nil.
func (p *Preview) NoNext() string {
	switch {
	case p.NextUnknown != "":
		return p.NextUnknown
	case p.StillHolding == 1:
		return "none while 1 other holds the lock"
	case p.StillHolding > 1:
		return fmt.Sprintf("none while %d others hold the lock", p.StillHolding)
	default:
		return "no visible waiters"
	}
}

// otherHolders counts the holders other than the seen contender; see Preview.StillHolding.
func otherHolders(l *inspect.Lock, seen *inspect.Contender) int {
	if l.Kind == inspect.KindSemaphore {
		return 0
	}
	n := len(l.Holders)
	if seen != nil && seen.State == inspect.Holding {
		n--
	}
	return max(0, n)
}

// refusal compares the request with the server's present state. seen is the contender of that name,
// if it still exists. Empty means that the action is allowed.
func refusal(r Request, seen *inspect.Contender) Reason {
	if seen == nil {
		return Gone
	}
	if r.Lock != nil {
		was, ok := find(r.Lock, r.Owner)
		if ok && (was.Czxid != seen.Czxid || was.Owner.Session != seen.Owner.Session) {
			return Changed
		}
	}
	if seen.State != inspect.Holding && !r.Waiter {
		return NotHolder
	}
	return ""
}

// otherRole reports that a contender has lost the role that the operator confirmed: a former waiter
// may hold the lock by now. Pending and waiting are one role. It is empty if the role is unchanged,
// and for a nil contender.
func otherRole(confirmed, now *inspect.Contender) string {
	was := confirmed.State == inspect.Holding
	switch {
	case now == nil || was == (now.State == inspect.Holding):
		return ""
	case was:
		return "it held the lock when this was confirmed, but no longer does"
	default:
		return "it did not hold the lock when this was confirmed, but now does"
	}
}

// nextNow finds the expected next contender in the lock as read after the release.
func nextNow(next *inspect.Contender, after *inspect.Lock) *inspect.Contender {
	if next == nil {
		return nil
	}
	if c, ok := after.Contender(next.Name); ok && c.Czxid == next.Czxid {
		return &c
	}
	return next
}

// changedSince explains why a confirmed action is no longer allowed on a contender as it is now.
func changedSince(seen, now *inspect.Contender) (Reason, string) {
	if now.Czxid != seen.Czxid || now.Owner.Session != seen.Owner.Session {
		return Changed, ""
	}
	if detail := otherRole(seen, now); detail != "" {
		return Changed, detail
	}
	return "", ""
}

// find looks a contender up by its name or, for a long value, its digest.
func find(l *inspect.Lock, owner inspect.Untrusted) (inspect.Contender, bool) {
	if c, ok := l.Contender(owner); ok && c.Digest == "" {
		return c, true
	}
	for c := range l.Contenders {
		if c.Digest != "" && c.Digest == owner.Raw() {
			return *c, true
		}
	}
	return inspect.Contender{}, false
}

// alike returns the contenders of a lock whose label, client, host or session is the given text.
func alike(l *inspect.Lock, text inspect.Untrusted) []inspect.Contender {
	var list []inspect.Contender
	for c := range l.Contenders {
		o := &c.Owner
		switch text {
		case "":
		case o.Label, inspect.Untrusted(o.Client), o.Host, inspect.Untrusted(inspect.SessionID(o.Session)), c.Who():
			list = append(list, *c)
		}
	}
	return list
}

// keepsRunning is the first warning of every force-release.
const keepsRunning = "the holder is not stopped: until its client notices, it keeps working as if it held the lock; " +
	"without fencing tokens two clients may write at the same time"
