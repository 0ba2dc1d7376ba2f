package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/connect"
)

// Inquiry asks all servers for their status, their sessions and the sessions' watches.
type Inquiry struct {
	// Limit bounds each request to one server.
	Limit time.Duration
	Now   func() time.Time
	// Ours is our own connection, or nil.
	Ours Connection
	// Spawn runs tasks that may outlast the inquiry.
	Spawn func(func())
	// Covers lists the locks whose watches are wanted. If it is empty, no watch table is
	// requested.
	Covers []inspect.ID

	admins []*zkadmin.Server
}

// Connection is our own connection to the ensemble.
type Connection interface {
	// Server is the connected server, host:port.
	Server() string
	// Acked returns our session and the time of the server's newest answer to it.
	Acked() (session int64, at time.Time)
	// Established bounds when the server accepted the connection.
	Established() (from, to time.Time, known bool)
	// Read returns the data of a node. It may block until the connection ends.
	Read(node string) ([]byte, error)
}

// Inquiry adds the servers to ask to an inquiry.
func (e *Ensemble) Inquiry(q Inquiry) Inquiry {
	q.admins = e.admins
	return q
}

// watchTableLimit is the number of watches on a server above which its table is too expensive to
// request. A table of 50 000 watches is 4.6 MB and takes a second.
const watchTableLimit = 20_000

// answer is a server's last report about itself.
type answer struct {
	asked  bool
	at     time.Time // when it answered
	status zkadmin.Status
	took   time.Duration
	err    string // escaped, for display
	failed error
	// oldest is the start of its oldest connection, by its own clock; zero if unknown.
	oldest time.Time
	clock  bounds // on its clock minus ours, from this answer
	// status.Zxid was read between asOf and at. See inspect.Server for lag and nodesApart.
	asOf       time.Time
	lag        time.Duration
	nodesApart int
	// ledFrom is the time of the first of the consecutive answers that claim to lead in this
	// election; zero if it does not lead.
	ledFrom time.Time
}

// serves reports whether a server serves all clients.
func (a *answer) serves() bool {
	return a.asked && a.failed == nil && a.status.Role != roleReadOnly
}

const roleReadOnly = "read-only"

// mostReason limits a displayed reason, in cells.
const mostReason = 240

// lacksQuorum reports whether a server runs without being part of a quorum.
func (a *answer) lacksQuorum() bool { return errors.Is(a.failed, zkadmin.ErrNoQuorum) }

// fault explains why a server serves no client, or not us.
func (a *answer) fault() inspect.ServerFault {
	switch {
	case a.lacksQuorum():
		return inspect.FaultNoQuorum
	case connect.Ours(a.failed):
		return inspect.FaultOurs
	}
	return ""
}

// tables holds the answers of one server.
type tables struct {
	status      answer
	sessionsAt  time.Time // when it was asked for its sessions
	sessions    map[int64]inspect.Session
	sessionsErr error
	asked       time.Time // when it was asked for its watches
	watches     map[string][]int64
	watchesErr  error
	watchesRead read             // the read that failed
	admin       *zkadmin.Failure // the AdminServer's first failure
}

// waitUntil waits until that time or the end of ctx.
func (q *Inquiry) waitUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(at.Sub(q.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Run asks all servers at the same time.
func (q *Inquiry) Run(ctx context.Context) *Report {
	settled := q.Now().Add(inspect.WatchSettle)
	answers := make([]tables, len(q.admins))
	var asking sync.WaitGroup
	for i, admin := range q.admins {
		asking.Go(func() { answers[i] = q.readServer(ctx, admin, settled) })
	}
	asking.Wait()
	r := &Report{Covers: q.Covers}
	r.join(q.admins, answers, len(q.Covers) > 0)
	q.count(ctx, r, answers)
	q.compareMembers(ctx, r.servers)
	return r
}

// readServer asks one server. After a timeout it asks no further questions.
func (q *Inquiry) readServer(ctx context.Context, admin *zkadmin.Server, settled time.Time) (t tables) {
	query := func(question func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, q.Limit)
		defer cancel()
		err := question(ctx)
		t.admin = cmp.Or(t.admin, admin.AdminFailure())
		return err
	}
	t.sessionsErr = query(func(ctx context.Context) error {
		t.status = q.readStatus(ctx, admin)
		return t.status.failed
	})
	if !errors.Is(t.sessionsErr, context.DeadlineExceeded) {
		t.sessionsErr = query(func(ctx context.Context) (err error) {
			t.sessionsAt = q.Now()
			t.sessions, err = q.readSessions(ctx, admin, &t.status)
			return err
		})
	}
	if len(q.Covers) == 0 {
		return t
	}
	if t.watchesErr, t.watchesRead = t.sessionsErr, readWatchCount; errors.Is(t.watchesErr, context.DeadlineExceeded) {
		return t
	}
	t.watchesErr = query(func(ctx context.Context) (err error) {
		t.watchesRead = readWatchCount
		if err = affordable(ctx, admin); err != nil {
			if errors.Is(err, errTooMany) {
				t.watchesRead = readWatches
			}
			return err
		}
		q.waitUntil(ctx, settled)
		t.asked, t.watchesRead = q.Now(), readWatches
		t.watches, err = admin.WatchesByPath(ctx)
		return err
	})
	return t
}

func (q *Inquiry) readStatus(ctx context.Context, admin *zkadmin.Server) answer {
	start := q.Now()
	st, err := admin.Status(ctx)
	a := answer{asked: true, at: q.Now(), status: st, failed: err}
	a.asOf = start
	a.took = a.at.Sub(start)
	if !st.Date.IsZero() {
		a.clock = readBetween(st.Date, time.Second, start, a.at)
	}
	switch {
	case errors.Is(err, zkadmin.ErrNoQuorum):
		a.err = zkadmin.ErrNoQuorum.Error()
	case errors.Is(err, zkadmin.ErrNotAllowed), errors.Is(err, zkadmin.ErrUnauthorized):
		a.asked = false // it runs, but does not report
	case err != nil:
		a.err = inspect.Untrusted(why(err)).Cut(mostReason)
	}
	return a
}

// readSessions reads the sessions. It also records the start of the oldest connection by the
// server's clock, and what our own connection shows of that clock.
func (q *Inquiry) readSessions(
	ctx context.Context, admin *zkadmin.Server, a *answer,
) (map[int64]inspect.Session, error) {
	conns, err := admin.Connections(ctx)
	if err != nil {
		return nil, err
	}
	a.clock = a.clock.with(establishedOn(q.Ours, conns, a.at))
	// LastResponse is by another clock. Our own session, if listed, relates that clock to ours.
	var ours time.Duration
	var acked time.Time
	if q.Ours != nil {
		id, at := q.Ours.Acked()
		for _, c := range conns {
			if c.Session == id && id != 0 {
				ours, acked = c.LastResponse, at.Round(0)
			}
		}
	}
	sessions := make(map[int64]inspect.Session, len(conns))
	for _, c := range conns {
		s := inspect.Session{
			ID: c.Session, Client: inspect.Escape(c.Client), Server: admin.Addr(),
			Timeout: c.Timeout, Established: c.Established,
		}
		if !acked.IsZero() && c.LastResponse > 0 {
			s.LastContact = acked.Add(c.LastResponse - ours)
		}
		sessions[c.Session] = s
		if a.oldest.IsZero() || c.Established.Before(a.oldest) {
			a.oldest = c.Established
		}
	}
	return sessions, nil
}

var errTooMany = errors.New("too many to list without slowing it down")

// affordable checks that the watch table is small enough to request.
func affordable(ctx context.Context, admin *zkadmin.Server) error {
	sum, err := admin.WatchSummary(ctx)
	if err == nil && sum.Watches >= watchTableLimit {
		err = fmt.Errorf("it has %d watches, %w", sum.Watches, errTooMany)
	}
	return err
}
