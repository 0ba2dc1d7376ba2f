package zksource

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/zkadmin"
	"lockscope/internal/servertest"
)

// The servers are asked who is connected every ten seconds, or twice in the shortest session, and seldom while nothing happens.
func TestInquiriesRest(t *testing.T) {
	long, short := time.Minute, 12*time.Second
	session := func(timeout, silent time.Duration) inspect.Session {
		return inspect.Session{Timeout: timeout, LastContact: noon.Add(-silent)}
	}
	followed := zkadmin.Status{Role: "follower", Zxid: 5 << 32}
	for name, tt := range map[string]struct {
		before map[int64]inspect.Session // nil: as it is now
		change func(w *watched, who *identity)
		want   time.Duration
	}{
		"nothing happens":    {want: 30 * time.Second},
		"nobody is there":    {change: func(_ *watched, who *identity) { clear(who.sessions) }, before: map[int64]inspect.Session{}, want: 30 * time.Second},
		"a short session":    {change: func(_ *watched, who *identity) { who.sessions[8] = session(short, 0) }, want: 6 * time.Second},
		"a middling one":     {change: func(_ *watched, who *identity) { who.sessions[8] = session(40*time.Second, 0) }, want: 20 * time.Second},
		"of who has nothing": {change: func(_ *watched, who *identity) { who.sessions[5] = session(short, 0) }, want: 30 * time.Second},
		"of who has a node of its own": {change: func(w *watched, who *identity) {
			w.dirs["/l"].self = &inspect.Znode{EphemeralOwner: 5}
			who.sessions[5] = session(short, 0)
		}, want: 6 * time.Second},
		"one is missed":  {before: map[int64]inspect.Session{7: {}, 9: {}}, want: 10 * time.Second},
		"one is another": {before: map[int64]inspect.Session{9: {}}, want: 10 * time.Second},
		"one is silent":  {change: func(_ *watched, who *identity) { who.sessions[7] = session(long, long/2+time.Second) }, want: 10 * time.Second},
		"a pause as usual": {
			change: func(_ *watched, who *identity) { who.sessions[7] = session(long, long/3+time.Second) }, want: 30 * time.Second,
		},
		"many": {change: func(_ *watched, who *identity) {
			for id := range int64(few + 1) {
				who.sessions[id] = session(long, 0)
			}
		}, want: 10 * time.Second},
		"somebody looks":              {change: func(w *watched, _ *identity) { w.focus = map[string]bool{"/l": true} }, want: 10 * time.Second},
		"a lock changed meanwhile":    {change: func(w *watched, _ *identity) { w.happened() }, want: 10 * time.Second},
		"no connection":               {change: func(w *watched, _ *identity) { w.ready = false }, want: 10 * time.Second},
		"it has just come back":       {change: func(w *watched, _ *identity) { w.disturb(w.now().Add(-restAfter / 2)) }, want: 10 * time.Second},
		"the first tables":            {change: func(w *watched, _ *identity) { w.identified = false }, want: 10 * time.Second},
		"a server is down":            {change: func(_ *watched, who *identity) { who.servers[0].failed = zkadmin.ErrNoQuorum }, want: 10 * time.Second},
		"a server lags":               {change: func(w *watched, who *identity) { who.servers[0].lag = time.Second }, want: 10 * time.Second},
		"a server does not tell more": {change: func(w *watched, who *identity) { who.servers[0] = serverAnswer{status: followed} }, want: 10 * time.Second},
		"a server leads now":          {change: func(_ *watched, who *identity) { who.servers[0].status.Role = "leader" }, want: 10 * time.Second},
		"another election":            {change: func(_ *watched, who *identity) { who.servers[0].status.Zxid = 6 << 32 }, want: 10 * time.Second},
		"it serves who only reads": {change: func(w *watched, who *identity) {
			w.link.readOnly, who.servers[0].status.Role = true, roleReadOnly
		}, want: soonest},
		"a server has other data": {change: func(_ *watched, who *identity) { who.servers[0].nodesApart = 1 }, want: 10 * time.Second},
	} {
		w := watchedRun(t)
		w.inbox = newInbox() // without the end of its connection, which nobody serves
		w.disturbedAt, w.identified = time.Time{}, true
		w.asking, w.askedAt, w.askAt = true, w.now(), w.now().Add(time.Hour)
		w.answers[0] = serverAnswer{asked: true, status: followed}
		who := identity{servers: slices.Clone(w.answers), sessions: map[int64]inspect.Session{7: session(long, 0)}, sessionsAt: w.now()}
		if tt.change != nil {
			tt.change(w, &who)
		}
		if w.sessions = tt.before; tt.before == nil {
			w.sessions = maps.Clone(who.sessions)
		}
		w.identify(who)
		if got := w.askAt.Sub(w.now()); got != tt.want {
			t.Errorf("%s: asks again after %v, want %v", name, got, tt.want)
		}
	}
}

// What happens after a rest has the servers asked at once, and soon after again.
func TestARestEnds(t *testing.T) {
	for name, happens := range map[string]func(w *watched){
		"a contender comes": func(w *watched) { w.list(w.now(), firstNode, secondNode, guid+"__lock__0000000003") },
		"one goes":          func(w *watched) { w.list(w.now(), secondNode) },
		"somebody looks":    func(w *watched) { w.refocus(map[string]bool{"/l": true}) },
		"a connection ends": func(w *watched) { w.lost(linkEvent{link: w.link, at: w.now(), kind: linkLost}) },
	} {
		for _, ago := range []time.Duration{5 * time.Second, 20 * time.Second} {
			w := watchedRun(t)
			w.watchesAt = noon
			w.resting, w.askedAt, w.askAt = true, noon.Add(-ago), noon.Add(30*time.Second-ago)
			happens(w)
			w.flush(noon)
			if want := noon.Add(max(0, 10*time.Second-ago)); w.askAt.After(want) {
				t.Errorf("%s %v after an inquiry: the next is at %v, want %v", name, ago, w.askAt, want)
			}
		}
	}
}

// A client that was there, with nothing, comes to a lock: its session may end before the next inquiry would be due.
func TestAShortSessionThatComesToALockIsAskedForInTime(t *testing.T) {
	w := watchedRun(t)
	w.resting, w.askedAt, w.askAt = true, noon, noon.Add(30*time.Second)
	w.sessions = map[int64]inspect.Session{9: {Timeout: 4 * time.Second}} // of the third contender
	w.list(w.now(), firstNode, secondNode, guid+"__lock__0000000003")
	w.flush(noon)
	if want := noon.Add(soonest); w.askAt != want {
		t.Errorf("the next is at %v, want %v", w.askAt, want)
	}
}

// Between two inquiries of all, while nothing happens, the sessions alone are asked for.
func TestWhileNothingHappensTheSessionsSuffice(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(w *watched)
		want   bool
	}{
		"nothing happens":     {func(*watched) {}, true},
		"something did":       {func(w *watched) { w.happened() }, false},
		"somebody looks":      {func(w *watched) { w.focus = map[string]bool{"/l": true} }, false},
		"no connection":       {func(w *watched) { w.ready = false }, false},
		"all was long ago":    {func(w *watched) { w.wholeAt = noon.Add(-30 * time.Second) }, false},
		"all was shortly ago": {func(w *watched) { w.wholeAt = noon.Add(-29 * time.Second) }, true},
	} {
		w := watchedRun(t)
		w.resting, w.wholeAt = true, noon.Add(-5*time.Second)
		tt.change(w)
		if got := w.sessionsSuffice(noon); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The sessions alone are reported where they are those of before. Else all is asked for first: what became of one shows only beside the rest.
func TestSessionsAloneAreReportedWhereTheyAreAsBefore(t *testing.T) {
	beat := 6 * time.Second
	for name, tt := range map[string]struct {
		change     func(who *identity)
		same, rest bool
	}{
		"as before":      {func(*identity) {}, true, true},
		"one is missed":  {func(who *identity) { delete(who.sessions, 8) }, false, false},
		"one came":       {func(who *identity) { who.sessions[9] = inspect.Session{} }, false, false},
		"one is another": {func(who *identity) { delete(who.sessions, 8); who.sessions[9] = inspect.Session{} }, false, false},
		"one is silent": {func(who *identity) { // it may end before all is told
			who.sessions[7] = inspect.Session{Timeout: 2 * beat, LastContact: noon.Add(-beat - 1)}
		}, true, false},
		"a server does not answer": {func(who *identity) { who.reporting-- }, false, false},
	} {
		w := watchedRun(t)
		w.inbox = newInbox()
		w.resting, w.wholeAt, w.shortest, w.reporting, w.allReporting = true, noon.Add(-beat), 2*beat, 1, true
		w.sessions = map[int64]inspect.Session{7: {}, 8: {}}
		w.asking, w.askedAt, w.askAt = true, noon, noon.Add(time.Hour)
		answers := w.answers
		who := identity{brief: true, reporting: 1, sessions: maps.Clone(w.sessions), sessionsAt: noon}
		tt.change(&who)
		w.identify(who)
		want := noon
		if tt.rest {
			want = noon.Add(beat)
		}
		if w.askAt != want || w.sessionsSuffice(noon) != tt.rest || w.asking {
			t.Errorf("%s: asks again at %v, want %v", name, w.askAt, want)
		}
		if u := w.extra; (u.Sessions != nil) != tt.same || u.AllSessions != tt.same || u.SessionsAt.Equal(noon) != tt.same || &w.answers[0] != &answers[0] {
			t.Errorf("%s: reports %+v", name, u)
		}
	}
}

// A brief inquiry asks each server one question.
func TestABriefInquiryAsksForTheSessions(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, _, err := zk.Connect([]string{zks.Addr}, 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, _, err := c.Exists("/"); err != nil {
			t.Fatal(err)
		}
		admins := newAdmins(Config{Servers: []string{zks.Addr}})
		q := inquiry{brief: true, now: time.Now, limit: time.Minute, admins: admins}
		who := q.run(t.Context())
		if _, there := who.sessions[c.SessionID()]; !there || who.reporting != 1 || admins[0].Requests() != 1 {
			t.Errorf("%d requests: %+v", admins[0].Requests(), who)
		}
	})
}

// When a server started stays what it is while the servers are asked again.
func TestAStartIsAsOldAsTheAnswerThatShowsIt(t *testing.T) {
	w := watchedRun(t)
	w.answers[0] = serverAnswer{asked: true, at: noon, status: zkadmin.Status{Uptime: time.Hour}}
	for _, asked := range []time.Duration{0, 30 * time.Second} {
		w.askedAt = noon.Add(asked)
		if at, want := w.serverState(0).StartedAt, noon.Add(-time.Hour); !at.Equal(want) {
			t.Errorf("asked again after %v: it started at %v, want %v", asked, at, want)
		}
	}
}
