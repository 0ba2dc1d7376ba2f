package zksource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zkadmin"
)

// queryLimit bounds a question to one server, of those who watch on; for who looks once see queryTime.
const queryLimit = 3 * time.Second

// inquiry asks all servers for their status, their sessions and the watches of these.
type inquiry struct {
	limit  time.Duration // of a question to one server
	now    func() time.Time
	admins []*zkadmin.Server
	link   *link        // nil while there is none
	spawn  func(func()) // runs what may outlast the inquiry
	covers []inspect.ID // locks whose watches are wanted; none: they are not asked for
}

// serverAnswer is the last report of a server about itself.
type serverAnswer struct {
	asked  bool
	at     time.Time // when
	status zkadmin.Status
	took   time.Duration
	err    string // for people, escaped
	failed error
	// oldest of its connections, by its own clock; zero when unknown.
	oldest time.Time
	clock  bounds // of its clock minus ours, as this answer shows it
	// asOf is the earliest time of status.Zxid, and at the latest. See inspect.Server for lag and nodesApart.
	asOf       time.Time
	lag        time.Duration
	nodesApart int
	// ledFrom dates the first of the answers in a row in which it says that it leads in this election; zero
	// where it does not.
	ledFrom time.Time
}

// serves reports whether a server serves all clients.
func (a *serverAnswer) serves() bool {
	return a.asked && a.failed == nil && a.status.Role != roleReadOnly
}

const roleReadOnly = "read-only"

// lacksQuorum reports whether a server runs and is part of no quorum.
func (a *serverAnswer) lacksQuorum() bool { return errors.Is(a.failed, zkadmin.ErrNoQuorum) }

// tables holds the answers of one server.
type tables struct {
	status      serverAnswer
	sessionsAt  time.Time // when it was asked for its sessions
	sessions    map[int64]inspect.Session
	sessionsErr error
	asked       time.Time // when the table of watches was
	watches     map[string][]int64
	watchesErr  error
	watchesRead read             // which failed
	admin       *zkadmin.Failure // of the AdminServer, the first
}

// waitUntil lets an instant come: a contender that has just joined a queue needs a moment to set its watch.
func (q *inquiry) waitUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(at.Sub(q.now()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// run asks all servers at the same time.
func (q *inquiry) run(ctx context.Context) identity {
	settled := q.now().Add(inspect.WatchSettle)
	answers := make([]tables, len(q.admins))
	var asking sync.WaitGroup
	for i, admin := range q.admins {
		asking.Go(func() { answers[i] = q.readServer(ctx, admin, settled) })
	}
	asking.Wait()
	who := identity{covers: q.covers}
	who.join(q.admins, answers, len(q.covers) > 0)
	q.count(ctx, &who, answers)
	q.compareMembers(ctx, who.servers)
	return who
}

// readServer asks one server. One that lets a question time out is not asked the next.
func (q *inquiry) readServer(ctx context.Context, admin *zkadmin.Server, settled time.Time) (t tables) {
	query := func(question func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, q.limit)
		defer cancel()
		err := question(ctx)
		if t.admin == nil {
			t.admin = admin.AdminFailure()
		}
		return err
	}
	t.sessionsErr = query(func(ctx context.Context) error {
		t.status = q.readStatus(ctx, admin)
		return t.status.failed
	})
	if !errors.Is(t.sessionsErr, context.DeadlineExceeded) {
		t.sessionsErr = query(func(ctx context.Context) (err error) {
			t.sessionsAt = q.now()
			t.sessions, err = q.readSessions(ctx, admin, &t.status)
			return err
		})
	}
	if len(q.covers) == 0 {
		return t
	}
	if t.watchesErr, t.watchesRead = t.sessionsErr, readWatchCount; errors.Is(t.watchesErr, context.DeadlineExceeded) {
		return t
	}
	t.watchesErr = query(func(ctx context.Context) (err error) {
		t.watchesRead = readWatchCount
		if err = affordable(ctx, admin); err != nil {
			if errors.Is(err, errTooDear) {
				t.watchesRead = readWatches
			}
			return err
		}
		q.waitUntil(ctx, settled)
		t.asked, t.watchesRead = q.now(), readWatches
		t.watches, err = admin.WatchesByPath(ctx)
		return err
	})
	return t
}

func (q *inquiry) readStatus(ctx context.Context, admin *zkadmin.Server) serverAnswer {
	start := q.now()
	st, err := admin.Status(ctx)
	a := serverAnswer{asked: true, at: q.now(), status: st, failed: err}
	a.asOf = start
	a.took = a.at.Sub(start)
	if !st.Date.IsZero() {
		a.clock = readBetween(st.Date, time.Second, start, a.at)
	}
	switch {
	case errors.Is(err, zkadmin.ErrNoQuorum):
		a.err = zkadmin.ErrNoQuorum.Error()
	case errors.Is(err, zkadmin.ErrNotAllowed), errors.Is(err, zkadmin.ErrUnauthorized):
		a.asked = false // it is there, and says nothing
	case err != nil:
		a.err = inspect.Untrusted(why(err)).Cut(mostReason)
	}
	return a
}

// readSessions also notes when the oldest connection was made, by the server's clock, and what ours shows of that.
func (q *inquiry) readSessions(ctx context.Context, admin *zkadmin.Server, a *serverAnswer) (map[int64]inspect.Session, error) {
	conns, err := admin.Connections(ctx)
	if err != nil {
		return nil, err
	}
	a.clock = a.clock.with(establishedOn(q.link, conns, a.at))
	// Its clock for the last answers is not ours: our own session, if it is there, relates the two.
	var ours time.Duration
	var acked time.Time
	if q.link != nil {
		id, _, at := q.link.tap.Lease()
		for _, c := range conns {
			if c.Session == id && id != 0 {
				ours, acked = c.LastResponse, at.Round(0)
			}
		}
	}
	sessions := make(map[int64]inspect.Session, len(conns))
	for _, c := range conns {
		s := inspect.Session{ID: c.Session, Client: inspect.Escape(c.Client), Server: admin.Addr(), Timeout: c.Timeout, Established: c.Established}
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

var errTooDear = errors.New("too many to ask for without hurting the server")

// affordable asks whether the table of watches is small enough to be asked for.
func affordable(ctx context.Context, admin *zkadmin.Server) error {
	sum, err := admin.WatchSummary(ctx)
	if err == nil && sum.Watches >= watchTableLimit {
		err = fmt.Errorf("%d watches: %w", sum.Watches, errTooDear)
	}
	return err
}
