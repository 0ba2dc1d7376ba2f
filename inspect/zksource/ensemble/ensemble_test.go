package ensemble

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/must"
)

func TestCountsMembersWithEqualVotes(t *testing.T) {
	t.Parallel()
	const two = "server.1=a:2888:3888:participant;0.0.0.0:2181\nserver.2=b:2888:3888:participant;0.0.0.0:2181\n"
	for configuration, want := range map[string][2]int{
		two + "version=0": {2, 2},
		two + "server.3=c:2888:3888:observer;0.0.0.0:2181\nversion=0": {3, 0},
		two + "group.1=1:2\nweight.1=1\nversion=0":                    {2, 0},
		"version=0": {0, 0},
		"":          {0, 0},
	} {
		if all, voters := countMembers(configuration); all != want[0] || voters != want[1] {
			t.Errorf("%q: %d servers, %d voters", configuration, all, voters)
		}
	}
}

func TestAdminServersMatchTheirServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		servers, admins []string
		want            int
	}{
		{[]string{"a:2181", "b:2181"}, []string{"http://x:8080", "http://y:8080"}, 2},
		{[]string{"a:2181", "b:2181"}, []string{"http://b:8080"}, 2},
		{[]string{"a:2181"}, []string{"http://a:8080", "http://z:8080"}, 2},
		{[]string{"a:2181"}, nil, 1},
	} {
		must.Equal(t, len(newAdmins(c.servers, c.admins, zkadmin.Config{})), c.want, c.servers, c.admins)
	}
}

func TestServerChangesDateReconnects(t *testing.T) {
	t.Parallel()
	up := func(role string, uptime time.Duration, election uint64) answer {
		return answer{asked: true, at: noon, status: zkadmin.Status{Role: role, Uptime: uptime, Zxid: election<<32 | 5}}
	}
	oldest := func(a answer, at time.Time) answer { a.oldest = at; return a }
	down := answer{asked: true, at: noon, failed: zkadmin.ErrNoQuorum, err: "down"}
	for name, tt := range map[string]struct {
		before, after answer
		want          time.Time
	}{
		"known uptime":                    {answer{}, up("leader", time.Hour, 1), noon.Add(-time.Hour)},
		"a new uptime":                    {up("leader", time.Hour, 1), up("leader", time.Minute, 2), noon.Add(-time.Minute)},
		"went down":                       {up("leader", time.Hour, 1), down, noon},
		"still down":                      {down, down, time.Time{}},
		"known oldest client":             {answer{}, oldest(up("follower", 0, 1), noon.Add(-time.Minute)), noon.Add(-time.Minute)},
		"neither known":                   {answer{}, up("follower", 0, 1), noon},
		"unknown uptime, served before":   {up("follower", 0, 1), oldest(up("follower", 0, 1), noon.Add(-time.Minute)), time.Time{}},
		"unknown uptime, elected":         {up("follower", 0, 1), oldest(up("leader", 0, 2), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"unknown uptime, another elected": {up("follower", 0, 1), up("follower", 0, 2), noon},
		"unknown uptime, down before":     {down, oldest(up("follower", 0, 1), noon.Add(-time.Second)), noon.Add(-time.Second)},
		"read-only":                       {answer{}, up(roleReadOnly, time.Minute, 1), time.Time{}},
		"became read-only":                {up("leader", time.Hour, 1), up(roleReadOnly, time.Minute, 1), noon},
	} {
		e := &Ensemble{}
		e.answers = []answer{tt.before}
		e.disturbedBy([]answer{tt.after})
		must.True(t, e.disturbedAt.Equal(tt.want), name, e.disturbedAt, "want", tt.want)
	}
}

// A known instant always counts. A computed one counts only if it cannot be the previous one. Neither
// replaces a later one.
func TestLatestReconnectTimeIsKept(t *testing.T) {
	t.Parallel()
	e := &Ensemble{}
	for _, step := range []struct {
		note        func(time.Time)
		what        string
		after, want time.Duration
	}{
		{e.Disturb, "known", 10 * time.Second, 10 * time.Second},
		{e.disturbAbout, "computed", 14 * time.Second, 10 * time.Second},
		{e.Disturb, "known", 14 * time.Second, 14 * time.Second},
		{e.Disturb, "known", 12 * time.Second, 14 * time.Second},
		{e.disturbAbout, "computed", 20 * time.Second, 20 * time.Second},
		{e.disturbAbout, "computed", 12 * time.Second, 20 * time.Second},
	} {
		if step.note(noon.Add(step.after)); !e.disturbedAt.Equal(noon.Add(step.want)) {
			t.Errorf("%s after %v: %v, want after %v", step.what, step.after, e.disturbedAt.Sub(noon), step.want)
		}
	}
}

// A resumed former leader starts a new claim, however long it led before. The server elected
// meanwhile has led since its first answer.
func TestLeadershipStartsAtFirstClaim(t *testing.T) {
	t.Parallel()
	e := &Ensemble{answers: make([]answer, 2)}
	at := func(a answer, second int) answer {
		a.at = noon.Add(time.Duration(second) * time.Second)
		return a
	}
	silent := answer{asked: true, at: noon, failed: errors.New("timed out"), err: "timed out"}
	for i, tt := range []struct {
		answers [2]answer
		want    [2]time.Duration
	}{
		{[2]answer{at(leads(4, 0, bounds{}), 0), at(follows(), 0)}, [2]time.Duration{}},
		{[2]answer{at(leads(4, 0, bounds{}), 10), at(follows(), 10)}, [2]time.Duration{10 * time.Second}},
		{[2]answer{silent, at(leads(5, 0, bounds{}), 20)}, [2]time.Duration{}},
		{[2]answer{at(leads(4, 0, bounds{}), 80), at(leads(5, 0, bounds{}), 80)}, [2]time.Duration{0, time.Minute}},
		{[2]answer{at(follows(), 90), at(leads(5, 0, bounds{}), 90)}, [2]time.Duration{0, 70 * time.Second}},
		{[2]answer{at(leads(6, 0, bounds{}), 100), at(leads(6, 0, bounds{}), 100)}, [2]time.Duration{}},
	} {
		answers := tt.answers[:]
		e.recordLeaders(answers)
		e.answers = answers
		for s, want := range tt.want {
			if a := &answers[s]; a.leads() == a.ledFrom.IsZero() || a.leads() && a.at.Sub(a.ledFrom) != want {
				t.Errorf("inquiry %d, server %d: %v, want %v", i, s, a.at.Sub(a.ledFrom), want)
			}
		}
	}
}

func TestLagIsMeasuredPerMember(t *testing.T) {
	t.Parallel()
	const epoch1, epoch2 = 1 << 32, 2 << 32
	type look struct {
		second           int
		leader, follower uint64
		want             time.Duration
	}
	for name, looks := range map[string][]look{
		"up to date":                  {{0, epoch1 | 5, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 9, 0}},
		"a little behind, under load": {{0, epoch1 | 5, epoch1 | 4, 0}, {10, epoch1 | 500, epoch1 | 499, 0}, {20, epoch1 | 900, epoch1 | 890, 0}},
		"hanging":                     {{0, epoch1 | 5, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 5, 0}, {20, epoch1 | 30, epoch1 | 5, 10 * time.Second}},
		"catching up":                 {{0, epoch1 | 9, epoch1 | 5, 0}, {10, epoch1 | 9, epoch1 | 7, 10 * time.Second}, {20, epoch1 | 9, epoch1 | 9, 0}},
		"truncated by a new leader":   {{0, epoch1 | 9, epoch1 | 5, 0}, {10, epoch2, epoch1 | 5, 0}, {20, epoch2 | 1, epoch2 | 1, 0}},
		"nothing since an election":   {{0, epoch2, epoch1 | 5, 0}, {60, epoch2, epoch1 | 5, 0}},
		"unknown zxid":                {{0, epoch1 | 9, 0, 0}, {60, epoch1 | 9, 0, 0}},
	} {
		e := &Ensemble{}
		for _, l := range looks {
			at := noon.Add(time.Duration(l.second) * time.Second)
			servers := []answer{
				{asked: true, at: at, asOf: at, status: zkadmin.Status{Role: "leader", Zxid: l.leader}},
				{asked: true, at: at, asOf: at, status: zkadmin.Status{Role: "follower", Zxid: l.follower}},
			}
			e.measureLag(servers)
			must.Equal(t, servers[0].lag, 0, name, "the leader lags after s", l.second)
			must.Equal(t, servers[1].lag, l.want, name, "the follower lags after s", l.second)
		}
	}
}

func TestNodesAreCountedAtOneTransaction(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		one, leader zkadmin.Status
		want        int
	}{
		"the same":                  {zkadmin.Status{Zxid: 7, Nodes: 9}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
		"more":                      {zkadmin.Status{Zxid: 7, Nodes: 11}, zkadmin.Status{Zxid: 7, Nodes: 9}, 2},
		"fewer":                     {zkadmin.Status{Zxid: 7, Nodes: 8}, zkadmin.Status{Zxid: 7, Nodes: 9}, -1},
		"at another transaction":    {zkadmin.Status{Zxid: 6, Nodes: 8}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
		"both transactions unknown": {zkadmin.Status{Nodes: 8}, zkadmin.Status{Nodes: 9}, 0},
		"one count unknown":         {zkadmin.Status{Zxid: 7}, zkadmin.Status{Zxid: 7, Nodes: 9}, 0},
	} {
		must.Equal(t, nodesApart(tt.one, tt.leader), tt.want, name)
	}
}

// Lag is measured from the leader's answer until we ask the member, so the member's late answer
// adds none.
func TestLateAnswerAddsNoLag(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	e := &Ensemble{}
	servers := []answer{
		{asked: true, asOf: noon, at: at(2000), status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: at(1100), at: at(2900), status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 8}},
	}
	if e.measureLag(servers); servers[1].lag != 0 {
		t.Errorf("lag %v", servers[1].lag)
	}
	clock := []time.Time{noon, at(3000)}
	q := Inquiry{Now: func() time.Time {
		now := clock[0]
		clock = clock[1:]
		return now
	}}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	a := q.readStatus(t.Context(), zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: refuse}))
	must.True(t, a.asOf.Equal(noon) && a.at.Equal(at(3000)), "as of", a.asOf, "at", a.at)
}

// speaker is a server that answers four-letter words.
func speaker(answers func(word string) string) *zkadmin.Server {
	return zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, its := net.Pipe()
		go func() {
			defer its.Close()
			word := make([]byte, 4)
			if _, err := io.ReadFull(its, word); err == nil {
				_, _ = io.WriteString(its, answers(string(word)))
			}
		}()
		return ours, nil
	}})
}

const serves = "Zookeeper version: 3.9.3\nZxid: 0x100000008\nNode count: 5\nMode: "

// The same applies to the second request: only the time until it was sent counts.
func TestLateSecondAnswerAddsNoLag(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	var asked time.Time // when the member got the second request
	before := time.Now().Add(-2 * lagGrace)
	servers := []answer{
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 7}},
	}
	q := Inquiry{Now: time.Now, Limit: limit, admins: []*zkadmin.Server{
		speaker(func(string) string { return serves + "leader\n" }),
		speaker(func(word string) string {
			if word == "srvr" {
				asked = time.Now()
			}
			return serves + "follower\n"
		}),
	}}
	q.compareMembers(t.Context(), servers)
	if a := servers[1]; a.status.Zxid != 1<<32|8 || asked.IsZero() || a.asOf.After(asked) {
		t.Errorf("%#x as of %v, asked at %v", a.status.Zxid, a.asOf, asked)
	}
}

// A table of 20,000 watches is not requested: it would slow the server down.
func TestLongWatchTableIsNotRequested(t *testing.T) {
	t.Parallel()
	server := speaker(func(word string) string {
		if word == "wchp" {
			t.Error("asks for the table")
		}
		return map[string]string{
			"srvr": serves + "leader\n", "wchs": "4 connections watching 9 paths\nTotal watches:20000\n",
		}[word]
	})
	q := Inquiry{Now: time.Now, Limit: 10 * time.Second, Covers: make([]inspect.ID, 1)}
	q.admins = []*zkadmin.Server{server}
	u := q.Run(t.Context()).missed.watches
	must.Equal(t, len(u), 1, "unseen")
	must.Equal(t, u[0].Read+": "+u[0].Reason, "wchp: it has 20000 watches, too many to list without slowing it down")
	must.True(t, u[0].Advice != "", "advice")
}
