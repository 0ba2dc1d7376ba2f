package zksource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zkadmin"
)

// askLimit bounds a question to one server.
const askLimit = 3 * time.Second

// serverAnswer is what a server last said of itself.
type serverAnswer struct {
	asked  bool
	status zkadmin.Status
	took   time.Duration
	err    string // for people, escaped
	failed error
}

// identity is one round of questions to all servers.
type identity struct {
	asked   time.Time
	servers []serverAnswer
	// sessions and watches of all servers that told; nil when none did.
	sessions    map[int64]inspect.Session
	allSessions bool // every server of the ensemble told
	watches     map[string][]int64
	allWatches  bool           // every server of the ensemble told
	heard       map[int64]bool // sessions on the servers that told who watches what
	covers      []inspect.ID
	missed      missed
}

// missed is what servers did not tell. That of the watches is kept until these are asked for again.
type missed struct {
	unseen, watches           []inspect.Unseen
	neverGiven, neverWatching []inspect.Finding
}

// note takes in that a server did not tell something; err may be nil.
func (m *missed) note(a *zkadmin.Server, what read, err error) {
	unseen, never := serverUnseen(a, what, err)
	list, findings := &m.unseen, &m.neverGiven
	if what == readWatchCount || what == readWatches {
		list, findings = &m.watches, &m.neverWatching
	}
	*list = append(*list, unseen...)
	if never != nil {
		*findings = append(*findings, *never)
	}
}

// tables are what one server told.
type tables struct {
	status      serverAnswer
	sessions    map[int64]inspect.Session
	sessionsErr error
	asked       time.Time // when the table of watches was
	watches     map[string][]int64
	watchesErr  error
	watchesRead read             // which failed
	admin       *zkadmin.Failure // of the AdminServer, the first
}

// newAdmins pairs the servers with their AdminServers: by place when there are as many of both, else by host.
// AdminServers of no server in the list come behind.
func newAdmins(cfg Config) []*zkadmin.Server {
	configs := make([]zkadmin.Config, len(cfg.Servers))
	for i, addr := range cfg.Servers {
		configs[i] = zkadmin.Config{Addr: addr, TLS: cfg.TLS}
	}
	for i, admin := range cfg.Admin {
		at := i
		if len(cfg.Admin) != len(cfg.Servers) {
			at = slices.IndexFunc(configs, func(c zkadmin.Config) bool { return c.Admin == "" && sameHost(c.Addr, admin) })
		}
		if at < 0 {
			configs = append(configs, zkadmin.Config{TLS: cfg.TLS})
			at = len(configs) - 1
		}
		configs[at].Admin = admin
	}
	admins := make([]*zkadmin.Server, len(configs))
	for i, c := range configs {
		admins[i] = zkadmin.New(c)
	}
	return admins
}

func sameHost(addr, admin string) bool {
	host, _, err := net.SplitHostPort(addr)
	u, bad := url.Parse(admin)
	return err == nil && bad == nil && u.Hostname() == host
}

// askWho asks the servers who is who when it is time: when the first pass is done, and then at a slow beat.
func (r *run) askWho(now time.Time) {
	if r.asking || r.done || now.Before(r.askAt) || r.cfg.Once && (!r.firstPass || r.told) || !r.ready && r.failures == 0 {
		return
	}
	if r.ready && !r.firstPass && now.Sub(r.readyAt) < time.Second {
		return // the first pass is done soon, most likely
	}
	r.asking = true
	r.askAt, r.askedAt = now.Add(r.identityBeat()), now
	covers := r.covers(now)
	l := r.link
	r.tasks.Go(func() {
		who := askAll(r.ctx, r.admins, l, covers)
		if r.ctx.Err() == nil { // else it is our own end that failed the questions
			r.identities <- who // one at a time, and there is room for it
		}
	})
}

const (
	// soonest is how soon the servers are asked again because of sessions that are short, when there are few.
	soonest = 2500 * time.Millisecond
	few     = 1000
)

// identityBeat is how long to wait before the servers are asked again: not for longer than half of the shortest timeout of
// the sessions that they told, so that one that runs out is seen without its client before.
func (r *run) identityBeat() time.Duration {
	return min(r.beats.identity, max(soonest, r.shortest/2))
}

// shortestTimeout is that of the sessions but our own; where there are many, or none, it is of no use and long.
func (r *run) shortestTimeout(sessions map[int64]inspect.Session) time.Duration {
	shortest := 2 * r.beats.identity
	if len(sessions) > few || r.link == nil {
		return shortest
	}
	ours, _, _ := r.link.tap.Lease()
	for id, s := range sessions {
		if id != ours && s.Timeout > 0 {
			shortest = min(shortest, s.Timeout)
		}
	}
	return shortest
}

// covers are the locks whose watch edges are wanted: those on the screen, and none when the tables were read a moment
// ago.
func (r *run) covers(now time.Time) []inspect.ID {
	if now.Sub(r.watchesAt) < r.beats.identity*9/10 {
		return nil
	}
	var ids []inspect.ID
	for p, d := range r.dirs {
		if d.told != nil && d.told.watched && (r.cfg.Once || r.focus[p]) {
			ids = append(ids, r.id(d))
		}
	}
	if ids != nil {
		r.watchesAt = now
	}
	return ids
}

// waitUntil lets an instant come: who has just joined a queue needs a moment to set its watch.
func waitUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// askAll asks all servers at the same time.
func askAll(ctx context.Context, admins []*zkadmin.Server, l *link, covers []inspect.ID) identity {
	settled := time.Now().Add(inspect.WatchSettle)
	told := make([]tables, len(admins))
	var asking sync.WaitGroup
	for i, admin := range admins {
		asking.Go(func() { told[i] = askOne(ctx, admin, l, settled, len(covers) > 0) })
	}
	asking.Wait()
	who := identity{covers: covers}
	who.join(admins, told, len(covers) > 0)
	who.count(l, told)
	return who
}

// askOne asks a server. One that lets a question time out is not asked the next.
func askOne(ctx context.Context, admin *zkadmin.Server, l *link, settled time.Time, watches bool) (t tables) {
	ask := func(question func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		err := question(ctx)
		if t.admin == nil {
			t.admin = admin.AdminFailure()
		}
		return err
	}
	t.sessionsErr = ask(func(ctx context.Context) error {
		t.status = askStatus(ctx, admin)
		return t.status.failed
	})
	if !errors.Is(t.sessionsErr, context.DeadlineExceeded) {
		t.sessionsErr = ask(func(ctx context.Context) (err error) {
			t.sessions, err = askSessions(ctx, admin, l)
			return err
		})
	}
	if !watches {
		return t
	}
	if t.watchesErr, t.watchesRead = t.sessionsErr, readWatchCount; errors.Is(t.watchesErr, context.DeadlineExceeded) {
		return t
	}
	waitUntil(ctx, settled)
	t.asked = time.Now()
	t.watchesErr = ask(func(ctx context.Context) (err error) {
		t.watches, t.watchesRead, err = askWatches(ctx, admin)
		return err
	})
	return t
}

// join makes one table of those of all servers.
func (who *identity) join(admins []*zkadmin.Server, told []tables, watches bool) {
	for i, t := range told {
		who.servers = append(who.servers, t.status)
		who.missed.unseen = append(who.missed.unseen, adminUnseen(t.admin)...)
		who.missed.note(admins[i], readStatus, t.status.failed)
		who.missed.note(admins[i], readSessions, t.sessionsErr)
		who.missed.note(admins[i], t.watchesRead, t.watchesErr)
		if t.sessionsErr == nil {
			if who.sessions == nil {
				who.sessions = map[int64]inspect.Session{}
			}
			maps.Copy(who.sessions, t.sessions)
		}
		if !watches || t.watchesErr != nil {
			continue
		}
		if who.watches == nil {
			who.watches, who.heard, who.asked = map[string][]int64{}, map[int64]bool{}, t.asked
		}
		if t.asked.Before(who.asked) {
			who.asked = t.asked
		}
		for p, ids := range t.watches {
			who.watches[p] = append(who.watches[p], ids...)
		}
		for id := range t.sessions {
			who.heard[id] = true
		}
	}
}

// count finds out whether every server of the ensemble told. One that is named twice in the target counts once: it shows
// by its sessions.
func (who *identity) count(l *link, told []tables) {
	sessions, tellSessions, tellWatches := 0, 0, 0
	for _, t := range told {
		sessions += len(t.sessions)
		if t.sessionsErr == nil {
			tellSessions++
		}
		if t.watches != nil {
			tellWatches++
		}
	}
	members, hosts, err := who.members(l)
	if errors.Is(err, zk.ErrNoAuth) {
		who.missed.unseen = append(who.missed.unseen, configUnseen(l, err)...)
	}
	known := members > 0 && sessions == len(who.sessions)
	who.allSessions = known && tellSessions >= members
	who.allWatches = known && tellWatches >= members && (who.allSessions || members == 1)
	if members > len(told) {
		who.missed.neverGiven = append(who.missed.neverGiven, inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain, Subject: inspect.Subject{Unseen: reads[readSessions].ofBackend},
			Message:  fmt.Sprintf("the ensemble has %d servers and the target names %d: who is connected to the others is not known", members, len(told)),
			Evidence: map[string]any{"servers": members, "named": len(told)},
			Advice:   "name all of them in the target: zk://" + cmp.Or(hosts, "HOST1,HOST2,HOST3"),
		})
	}
}

func askStatus(ctx context.Context, admin *zkadmin.Server) serverAnswer {
	start := time.Now()
	st, err := admin.Status(ctx)
	a := serverAnswer{asked: true, status: st, took: time.Since(start), failed: err}
	switch {
	case errors.Is(err, zkadmin.ErrNotAllowed), errors.Is(err, zkadmin.ErrUnauthorized):
		a.asked = false // it is there, and says nothing
	case errors.Is(err, zkadmin.ErrNoQuorum):
		a.err = zkadmin.ErrNoQuorum.Error()
	case err != nil:
		a.err = inspect.Untrusted(why(err)).Cut(mostReason)
	}
	return a
}

func askSessions(ctx context.Context, admin *zkadmin.Server, l *link) (map[int64]inspect.Session, error) {
	conns, err := admin.Connections(ctx)
	if err != nil {
		return nil, err
	}
	// Its clock for the last answers is not ours: our own session, if it is there, tells how they relate.
	var ours time.Duration
	var acked time.Time
	if l != nil {
		id, _, at := l.tap.Lease()
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
	}
	return sessions, nil
}

var errTooDear = errors.New("it has too many watches: asking for them would hurt it")

// askWatches returns which question failed with its error.
func askWatches(ctx context.Context, admin *zkadmin.Server) (map[string][]int64, read, error) {
	sum, err := admin.WatchSummary(ctx)
	if err != nil {
		return nil, readWatchCount, err
	}
	if sum.Watches >= watchTableLimit {
		return nil, readWatches, fmt.Errorf("%d watches: %w", sum.Watches, errTooDear)
	}
	watches, err := admin.WatchesByPath(ctx)
	return watches, readWatches, err
}

// identified takes in what the servers told.
func (r *run) identified(who identity) {
	for range len(r.results) { // read before the table was: told before it
		r.result(<-r.results)
	}
	r.asking = false
	r.answers = who.servers
	if who.covers == nil { // nobody asked for the watches this time
		who.missed.watches, who.missed.neverWatching = r.missed.watches, r.missed.neverWatching
	}
	r.missed = who.missed
	r.backend.stale = true
	r.extra.Sessions, r.extra.AllSessions = who.sessions, who.allSessions
	r.shortest = r.shortestTimeout(who.sessions)
	if next := r.askedAt.Add(r.identityBeat()); next.Before(r.askAt) {
		r.askAt = next
	}
	if who.watches != nil {
		r.extra.Watches = r.watchTable(who)
		r.recheck(r.extra.Watches, time.Now())
	}
	r.progress = time.Now()
	r.told = true
}

// watchTable keeps what stands on children of the locks that were asked about.
func (r *run) watchTable(who identity) *inspect.WatchTable {
	wanted, unheard := make(map[string]bool, len(who.covers)), map[int64]bool{}
	for _, id := range who.covers {
		d := r.dirs[id.Path]
		if d == nil || d.told == nil {
			continue
		}
		wanted[d.path] = true
		if !who.allWatches {
			for _, w := range r.waiters(d) {
				if s := w.Owner.Session; !who.heard[s] {
					unheard[s] = true
				}
			}
		}
		if d.single {
			wanted[parent(d.path)] = true
		}
		for _, part := range d.parts {
			wanted[part.path] = true
		}
	}
	table := &inspect.WatchTable{Backend: r.cfg.Backend, ReadAt: who.asked, Sessions: map[string][]int64{}, Covers: who.covers}
	table.Unheard = slices.Sorted(maps.Keys(unheard))
	for full, ids := range who.watches {
		if p, ok := r.cfg.shown(full); ok && wanted[parent(p)] {
			table.Sessions[p] = ids
		}
	}
	return table
}
