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
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zkadmin"
)

// identity holds the result of one inquiry.
type identity struct {
	asked   time.Time // when the first table of watches was
	servers []serverAnswer
	// sessions and watches of all servers that answered; nil when none did.
	sessions    map[int64]inspect.Session
	sessionsAt  time.Time // when the first of them was asked for its sessions
	allSessions bool      // every server of the ensemble answered
	watches     map[string][]int64
	allWatches  bool                // every server of the ensemble answered
	connected   map[int64]time.Time // sessions on the servers that answered for their watches, with the time of connecting
	covers      []inspect.ID
	missed      missed
}

// missed collects refusals and failures of servers. Those of the watches stay until these are asked for again.
type missed struct {
	unseen, watches           []inspect.Unseen
	neverGiven, neverWatching []inspect.Finding
}

// record takes in that a server did not answer a question; err may be nil.
func (m *missed) record(a *zkadmin.Server, what read, err error) {
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

// newAdmins pairs the servers with their AdminServers: by place when there are as many of both, else by host.
// AdminServers of no server in the list come behind.
func newAdmins(cfg Config) []*zkadmin.Server {
	one := zkadmin.Config{Dial: cfg.Dial, TLS: cfg.TLS, AdminTLS: cfg.AdminTLS, Username: cfg.AdminUser, Password: cfg.AdminPassword}
	configs := slices.Repeat([]zkadmin.Config{one}, len(cfg.Servers))
	for i, addr := range cfg.Servers {
		configs[i].Addr = addr
	}
	for i, admin := range cfg.Admin {
		at := i
		if len(cfg.Admin) != len(cfg.Servers) {
			at = slices.IndexFunc(configs, func(c zkadmin.Config) bool { return c.Admin == "" && sameHost(c.Addr, admin) })
		}
		if at < 0 {
			configs = append(configs, one)
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

// join makes one table of those of all servers.
func (who *identity) join(admins []*zkadmin.Server, answers []tables, watches bool) {
	for i, t := range answers {
		who.servers = append(who.servers, t.status)
		who.missed.unseen = append(who.missed.unseen, adminUnseen(t.admin)...)
		who.missed.record(admins[i], readStatus, t.status.failed)
		who.missed.record(admins[i], readSessions, t.sessionsErr)
		who.missed.record(admins[i], t.watchesRead, t.watchesErr)
		if t.sessionsErr == nil {
			if who.sessions == nil {
				who.sessions, who.sessionsAt = map[int64]inspect.Session{}, t.sessionsAt
			}
			if t.sessionsAt.Before(who.sessionsAt) {
				who.sessionsAt = t.sessionsAt
			}
			maps.Copy(who.sessions, t.sessions)
		}
		if !watches || t.watchesErr != nil {
			continue
		}
		if who.watches == nil {
			who.watches, who.connected, who.asked = map[string][]int64{}, map[int64]time.Time{}, t.asked
		}
		if t.asked.Before(who.asked) {
			who.asked = t.asked
		}
		for p, ids := range t.watches {
			who.watches[p] = append(who.watches[p], ids...)
		}
		for id, s := range t.sessions {
			who.connected[id] = s.Established
		}
	}
}

// settling is the time after connecting again in which a client may be without its watches: it sets them anew on each
// connection, right after the server took it. It allows for a server's clock that is behind ours.
const settling = 2 * time.Second

// hears reports whether the table of watches has all of a session's that queued up then. One that is
// connected nowhere may be on its way back, and has its watches with it; so may one that has connected again
// only just now.
func (who *identity) hears(session int64, queued time.Time) bool {
	if who.sessions == nil {
		return who.allWatches
	}
	since, ok := who.connected[session]
	return ok && (!since.After(queued) || who.asked.Sub(since) > settling)
}

// count finds out whether every server of the ensemble answered. One that is named twice in the target counts
// once: it shows by its sessions.
func (q *inquiry) count(ctx context.Context, who *identity, answers []tables) {
	sessions, withSessions, withWatches := 0, 0, 0
	for _, t := range answers {
		sessions += len(t.sessions)
		if t.sessionsErr == nil {
			withSessions++
		}
		if t.watches != nil {
			withWatches++
		}
	}
	members, hosts, err := q.members(ctx, who.servers)
	if errors.Is(err, zk.ErrNoAuth) {
		who.missed.unseen = append(who.missed.unseen, configUnseen(q.link, err)...)
	}
	known := members > 0 && sessions == len(who.sessions)
	who.allSessions = known && withSessions >= members
	who.allWatches = known && withWatches >= members && (who.allSessions || members == 1)
	if members > len(answers) {
		who.missed.neverGiven = append(who.missed.neverGiven, inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain, Subject: inspect.Subject{Unseen: reads[readSessions].ofBackend},
			Message:  fmt.Sprintf("the ensemble has %d servers and the target names %d: who is connected to the others is not known", members, len(answers)),
			Evidence: map[string]any{"servers": members, "named": len(answers)},
			Steps: []inspect.Step{{
				Verb: inspect.VerbConfigure, Why: "name all of them in the target: zk://" + cmp.Or(hosts, "HOST1,HOST2,HOST3"),
			}},
		})
	}
}

// startInquiry starts an inquiry when one is due: when the first pass is done or no server lets us in, and
// then at a slow beat.
func (r *run) startInquiry(now time.Time) {
	if r.asking || r.done || now.Before(r.askAt) || !r.ready && r.failures == 0 || r.cfg.Once && r.identified {
		return
	}
	if r.ready && !r.firstPass && (r.cfg.Once || now.Sub(r.readyAt) < time.Second) {
		return // the first pass is done soon, most likely
	}
	r.asking = true
	r.askAt, r.askedAt, r.afterPass = now.Add(r.identityBeat()), now, r.firstPass // sooner as the answers say
	r.requestAccessAgain()
	q := inquiry{now: r.cfg.Now, admins: r.admins, link: r.link, spawn: r.tasks.Go, covers: r.covers(now), limit: r.queryTime()}
	r.tasks.Go(func() {
		who := q.run(r.ctx)
		if r.ctx.Err() == nil { // else it is our own end that failed the questions
			r.identities <- who // one at a time, and there is room for it
		}
	})
}

// queryTime returns the limit of a question to one server. Who looks once waits for half of its time, and
// five seconds where it has them: one server that hangs is not to hold up for long what was read of all
// locks.
func (r *run) queryTime() time.Duration {
	if !r.cfg.Once {
		return queryLimit
	}
	return max(queryLimit, min(r.cfg.Timeout, 5*time.Second), r.cfg.Timeout/2)
}

// identify takes in what came of an inquiry.
func (r *run) identify(who identity) {
	for range len(r.results) { // read before the table was: emitted before it
		r.result(<-r.results)
	}
	for _, e := range r.inbox.take() {
		r.event(e)
	}
	r.asking = false
	if r.stall.Since(r.askedAt) { // the tables may be of before it
		r.askAt = r.cfg.Now()
		return
	}
	r.disturbedBy(who.servers)
	r.measureLag(who.servers)
	r.recordLeaders(who.servers)
	r.clock.measure(r.answers, who.servers, who.allSessions)
	r.answers, r.sessions = who.servers, who.sessions
	if who.covers == nil { // nobody asked for the watches this time
		who.missed.watches, who.missed.neverWatching = r.missed.watches, r.missed.neverWatching
	}
	r.missed = who.missed
	r.backend.stale = true
	if who.sessions != nil {
		r.extra.Sessions, r.extra.AllSessions, r.extra.SessionsAt = who.sessions, who.allSessions, who.sessionsAt.Round(0)
		r.shortest = r.shortestTimeout(who.sessions)
	}
	r.inquireWithin(r.identityBeat())
	now := r.cfg.Now()
	r.countEmpty(now)
	if who.watches != nil {
		r.extra.Watches = r.watchTable(who)
		r.recheck(r.extra.Watches, now)
	}
	if r.ready { // else it would put off the end of a look for which no server lets us in
		r.progress = now
	}
	r.identified = r.identified || r.afterPass
	r.inquiries++
}
