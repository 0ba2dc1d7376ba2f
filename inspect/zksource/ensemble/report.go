package ensemble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zkadmin"
)

// Report is the result of one inquiry.
type Report struct {
	// Covers is copied from the inquiry.
	Covers []inspect.ID
	// Sessions of all servers that answered; nil if none did. SessionsAt is when the first was asked.
	Sessions    map[int64]inspect.Session
	SessionsAt  time.Time
	AllSessions bool // every server of the ensemble answered
	// Watches of all servers that answered, by the servers' paths; nil if none did. Asked is when
	// the first was asked.
	Watches map[string][]int64
	Asked   time.Time

	servers []answer
	// voters is as in inspect.Backend; it is known if membersKnown is set.
	voters       int
	membersKnown bool
	allWatches   bool                // every server of the ensemble answered
	connected    map[int64]time.Time // when each session connected, on servers that reported watches
	missed       missed
}

// missed collects refusals and failures of servers. Those about watches stay until watches are
// requested again.
type missed struct {
	unseen, watches               []inspect.Unseen
	notAllowed, watchesNotAllowed []inspect.Finding
}

// record notes that a server did not answer a question; err may be nil.
func (m *missed) record(a *zkadmin.Server, what read, err error) {
	unseen, never := serverUnseen(a, what, err)
	list, findings := &m.unseen, &m.notAllowed
	if what == readWatchCount || what == readWatches {
		list, findings = &m.watches, &m.watchesNotAllowed
	}
	if unseen != nil {
		*list = append(*list, *unseen)
	}
	if never != nil {
		*findings = append(*findings, *never)
	}
}

// join merges the tables of all servers.
func (r *Report) join(admins []*zkadmin.Server, answers []tables, watches bool) {
	for i, t := range answers {
		r.servers = append(r.servers, t.status)
		if t.admin != nil {
			r.missed.unseen = append(r.missed.unseen, adminUnseen(t.admin))
		}
		r.missed.record(admins[i], readStatus, t.status.failed)
		r.missed.record(admins[i], readSessions, t.sessionsErr)
		r.missed.record(admins[i], t.watchesRead, t.watchesErr)
		if t.sessionsErr == nil {
			if r.Sessions == nil {
				r.Sessions, r.SessionsAt = map[int64]inspect.Session{}, t.sessionsAt
			}
			if t.sessionsAt.Before(r.SessionsAt) {
				r.SessionsAt = t.sessionsAt
			}
			maps.Copy(r.Sessions, t.sessions)
		}
		if !watches || t.watchesErr != nil {
			continue
		}
		if r.Watches == nil {
			r.Watches, r.connected, r.Asked = map[string][]int64{}, map[int64]time.Time{}, t.asked
		}
		if t.asked.Before(r.Asked) {
			r.Asked = t.asked
		}
		for p, ids := range t.watches {
			r.Watches[p] = append(r.Watches[p], ids...)
		}
		for id, s := range t.sessions {
			r.connected[id] = s.Established
		}
	}
}

// settling is the time after a reconnect during which a client may be without its watches. It sets
// them again at once, but a server's clock may be behind ours.
const settling = 2 * time.Second

// Hears reports whether the watch table is complete for a session that queued up at that time. A
// disconnected session may be about to reconnect with its watches. A newly reconnected one may
// still be setting them.
func (r *Report) Hears(session int64, queued time.Time) bool {
	if r.Sessions == nil {
		return r.allWatches
	}
	since, ok := r.connected[session]
	return ok && (!since.After(queued) || r.Asked.Sub(since) > settling)
}

// count finds out whether every server of the ensemble answered. A server that the target names
// twice is recognised by its sessions and counts once.
func (q *Inquiry) count(ctx context.Context, r *Report, answers []tables) {
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
	members, voters, err := q.members(ctx, r.servers)
	r.voters, r.membersKnown = voters, members > 0
	if errors.Is(err, zk.ErrNoAuth) {
		r.missed.unseen = append(r.missed.unseen, configUnseen(q.Ours.Server()))
	}
	known := members > 0 && sessions == len(r.Sessions)
	r.AllSessions = known && withSessions >= members
	r.allWatches = known && withWatches >= members && (r.AllSessions || members == 1)
	if members > len(answers) {
		r.missed.notAllowed = append(r.missed.notAllowed, inspect.Finding{
			Rule: "blind", Severity: inspect.Info, Confidence: recipe.Certain,
			Subject: inspect.Subject{Unseen: []inspect.Aspect{reads[readSessions].unknown}},
			Message: fmt.Sprintf("the ensemble has %d servers and the target names %d: the clients of the others are unknown",
				members, len(answers)),
			Evidence: map[string]any{"servers": members, "named": len(answers)},
			Steps: []inspect.Step{{
				Verb: inspect.VerbConfigure, Why: "name all of them in the target: zk://HOST1,HOST2,HOST3",
			}},
		})
	}
}
