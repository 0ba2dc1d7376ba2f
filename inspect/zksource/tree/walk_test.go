package tree

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

const guid = "0123456789abcdef0123456789abcdef"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// grown is a tree with its roots. The test supplies the replies.
func grown(cfg Config) *Tree {
	cfg.Backend, cfg.Depth, cfg.Children, cfg.Dirs, cfg.Relists = "zk", 16, 10_000, 250_000, 4
	cfg.Focused, cfg.Others, cfg.Doubtful, cfg.Sweep = 2*time.Second, 10*time.Second, 10*time.Second, time.Minute
	if cfg.Only != "" {
		cfg.Roots = []string{cfg.Only}
	}
	t := New(cfg)
	t.AddRoots()
	return t
}

// answer applies a reply and builds the changed locks.
func (t *Tree) answer(kind Kind, p, name string, at time.Time, stat *Stat, err error, names ...string) {
	reply := &Reply{Job: Job{Kind: kind, Dir: t.dirs[p], Name: name}, Sent: at, At: at, Names: names, Err: err}
	if stat != nil {
		reply.Stat = *stat
	}
	t.Apply(reply)
	t.Build(at)
}

func TestContenderGoneBeforeReadIsIgnored(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		r := grown(Config{Roots: []string{"/l"}, Once: once})
		first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
		r.answer(JobStat, "/l", "", noon, &Stat{NumChildren: 2}, nil)
		r.answer(JobList, "/l", "", noon, &Stat{Czxid: 1, NumChildren: 2}, nil, first, second)
		r.answer(JobGet, "/l", first, noon, nil, ErrGone)
		r.answer(JobGet, "/l", second, noon, &Stat{EphemeralOwner: 7}, nil)
		l := r.changes.Put["/l"]
		if l == nil || l.Contention() != 1 || l.Holders[0].Owner.Session != 7 {
			t.Errorf("once %v: %+v", once, l)
		}
	}
}

// An ephemeral node is a lock only without another one next to it, in either order of the answers.
func TestLoneNodeDetectionIgnoresAnswerOrder(t *testing.T) {
	t.Parallel()
	const plain, numbered = "host-a", "host-1234567890"
	member := &Stat{Czxid: 5, EphemeralOwner: 7}
	for _, once := range []bool{true, false} {
		for _, plainFirst := range []bool{true, false} {
			for _, gone := range []bool{true, false} {
				t.Run(fmt.Sprintf("once %v, plain first %v, gone %v", once, plainFirst, gone), func(t *testing.T) {
					r := grown(Config{Roots: []string{"/web"}, Once: once})
					r.answer(JobStat, "/web", "", noon, &Stat{NumChildren: 2}, nil)
					r.answer(JobList, "/web", "", noon, &Stat{Czxid: 1, NumChildren: 2}, nil, numbered, plain)
					answers := []func(){
						func() { r.answer(JobStat, "/web/"+plain, "", noon, member, nil) },
						func() {
							if gone {
								r.answer(JobGet, "/web", numbered, noon, nil, ErrGone)
							} else {
								r.answer(JobGet, "/web", numbered, noon, member, nil)
							}
						},
					}
					if !plainFirst {
						slices.Reverse(answers)
					}
					for _, answer := range answers {
						answer()
					}
					if d := r.dirs["/web/"+plain]; d == nil || d.single() != gone {
						t.Errorf("%+v", d)
					}
				})
			}
		}
	}
}

func TestDeniedReadsAreRetried(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/"}})
	first, second := guid+"__lock__0000000001", guid+"__lock__0000000002"
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, "gone", "shut", first, second)
	for _, p := range []string{"/gone", "/shut"} {
		r.answer(JobStat, p, "", noon, &Stat{NumChildren: 1}, nil)
		r.answer(JobList, p, "", noon, nil, ErrDenied)
	}
	r.answer(JobGet, "/", first, noon, nil, ErrDenied)
	r.answer(JobGet, "/", second, noon, nil, ErrDenied)
	if len(r.blind.refused) != 4 {
		t.Fatalf("denied: %v", r.blind.refused)
	}
	r.answer(JobList, "/", "", noon, &Stat{Czxid: 1}, nil, "shut", second)
	must.Equal(t, len(r.blind.refused), 2, "refused reads after the deletions", r.blind.refused)
	r.Queue.clear()
	r.server.Watched = []string{"/"}
	r.Poll(noon.Add(time.Second))
	must.True(t, r.Queue.Empty(), "requested again at once", r.Queue.Polls)
	asked := map[string]bool{}
	for beat := range 2 { // one at a time
		r.Poll(noon.Add(time.Minute + time.Duration(beat)*r.cfg.Focused))
		for _, j := range slices.Concat(r.Queue.Polls, r.Queue.Urgent) {
			asked[j.Dir.Path+" "+j.Name] = true
		}
		must.Equal(t, len(asked), beat+1, "requests", asked)
	}
	if !asked["/shut "] || !asked["/ "+second] {
		t.Errorf("requested again: %v", asked)
	}
	r.answer(JobList, "/shut", "", noon, &Stat{Czxid: 2}, nil)
	r.answer(JobGet, "/", second, noon, &Stat{EphemeralOwner: 7}, nil)
	if len(r.blind.refused) != 0 || r.dirs["/shut"].phase != listable {
		t.Errorf("still refused after the read: %v", r.blind.refused)
	}
	if l := r.changes.Put["/"]; l == nil || l.Holders[0].Owner.Session != 7 {
		t.Errorf("%+v", l)
	}
}

// The event of a root's creation may arrive before an older answer that it does not exist.
func TestRootCreatedDuringReadIsReread(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server.Watched = []string{"/l"}
	d := &Dir{Path: "/l", root: true, asked: underWay}
	r.dirs["/l"] = d
	r.HandleEvent("/l", Created, noon)
	r.Apply(&Reply{Job: Job{Kind: JobStat, Dir: d}, At: noon, Err: ErrGone})
	if q := r.Queue.Urgent; len(q) != 1 || q[0].Dir != r.dirs["/l"] {
		t.Errorf("queued: %+v", q)
	}
}

// Servers since CVE-2024-23944 report nothing about a node that we may not read.
func TestAbsentRootIsPolled(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server = Server{Watched: []string{"/l"}}
	r.answer(JobStat, "/l", "", noon, nil, ErrGone)
	r.Poll(noon.Add(time.Minute))
	if q := r.Queue.Polls; len(q) != 1 || q[0].Kind != JobStat || q[0].Dir != r.dirs["/l"] {
		t.Errorf("queued: %+v", q)
	}
}
