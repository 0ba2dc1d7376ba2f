package act

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// sweeping is a root with leftover lock directories, and the Sweeper for them.
type sweeping struct {
	*testing.T
	conn    *zk.Conn
	wire    *hooked
	sweeper *ZooKeeper
	root    string
	backend *inspect.Backend // has what is known of the server's clock
}

// startSweeping makes directories: used long ago, used but with data, never used, used by a client
// now, and undatable.
func startSweeping(t *testing.T, addr string, audit *Audit) *sweeping {
	conn := connectZooKeeper(t, addr)
	wire := &hooked{ZKConn: conn, beforeRemoval: func() {}}
	root := servertest.UniquePath(t)
	sweeper := NewZooKeeper(wire, Target{Name: "zk", Servers: []string{addr}, Chroot: root}, audit)
	s := &sweeping{t, conn, wire, sweeper, root, dated(inspect.LeaderClock{Known: true, From: 1})}
	t.Cleanup(s.sweeper.Close)
	s.create("", "", 0)
	for _, dir := range []string{"/idle", "/idler", "/data", "/never", "/held", "/last"} {
		data := ""
		if dir == "/data" {
			data = "quota=7"
		}
		s.create(dir, data, 0)
	}
	s.create("/owned", "", zk.FlagEphemeral)
	for _, dir := range []string{"/idler", "/idle", "/data"} {
		s.use(dir)
	}
	s.create("/held/lock-", "", zk.FlagEphemeral|zk.FlagSequence)
	s.create("/later", "", 0) // dates everything before it
	s.use("/last")            // nothing later dates it
	return s
}

func (s *sweeping) create(node, data string, flags int32) string {
	s.Helper()
	return create(s.T, s.conn, s.root+node, data, flags)
}

func (s *sweeping) use(dir string) {
	s.Helper()
	must.Succeed(s, s.conn.Delete(s.create(dir+"/lock-", "", sequential), -1))
}

func (s *sweeping) preview(idle, later time.Duration) SweepPreview {
	s.Helper()
	root := inspect.ID{Backend: "zk", Path: "/"}
	request := SweepRequest{
		Root: root, Idle: idle, Now: time.Now().Add(later), Backend: s.backend, Within: time.Minute, Why: "a test",
	}
	return must.Have(s.sweeper.PreviewSweep(s.Context(), request))(s)
}

// sweep tries to delete a directory and expects it to be kept for the reason want, or deleted if
// want is empty.
func (s *sweeping) sweep(what string, p SweepPreview, dir EmptyDir, want Reason) {
	s.Helper()
	r := must.Have(s.sweeper.Sweep(s.Context(), p, dir, "--yes"))(s)
	must.True(s, r.Released == (want == "") && r.Reason == want, what, r)
	details := map[Reason]string{Gone: "it is gone already", Changed: "it has been used since the check"}
	must.Equal(s, r.Detail, details[want])
}

// An idle, empty directory that once had children is deleted and audited. Directories in use,
// recently used, with data, ephemeral or never used stay, and so does one used between the preview
// and the delete.
func TestSweepDeletesOnlyIdleLeftovers(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		audit, trail := openAudit(t)
		s := startSweeping(t, server.Addr, audit)
		p := s.preview(24*time.Hour, 48*time.Hour)
		var paths []string
		for _, dir := range p.Found {
			paths = append(paths, dir.Path)
		}
		slices.Sort(paths)
		if !slices.Equal(paths, []string{"/idle", "/idler"}) || p.Undated != 1 || p.WithData != 1 || p.Recent != 0 {
			t.Fatalf("found %v: %+v", paths, p)
		}
		if p := s.preview(24*time.Hour, 0); len(p.Found) != 0 || p.Recent != 2 {
			t.Errorf("used within a day: %+v", p)
		}

		at := slices.IndexFunc(p.Found, func(dir EmptyDir) bool { return dir.Path == "/idle" })
		idle, idler := p.Found[at], p.Found[1-at]
		s.sweeper.conn = cutOff{s.conn, func() {}}
		r, err := s.sweeper.Sweep(t.Context(), p, idler, "--yes")
		must.True(t, errors.Is(err, ErrUnreachable) && r.Unknown && !r.Released && r.Detail == "", "cut off:", r, err)
		s.sweeper.conn = s.wire
		s.wire.beforeRemoval = func() { s.create("/idler/lock-", "", zk.FlagEphemeral) }
		s.sweep("used right before the delete", p, idler, Changed)
		s.wire.beforeRemoval = func() {}
		must.Succeed(t, s.conn.Delete(s.root+"/idler/lock-", -1))
		s.sweep("used since it was looked at", p, idler, Changed)
		s.sweep("idle", p, idle, "")
		there, _, err := s.conn.Exists(s.root + idle.Path)
		must.True(t, !there && err == nil, "it still exists:", there, err)
		s.sweep("once more", p, idle, Gone)
		s.sweeper.Close()
		_, err = s.sweeper.Sweep(t.Context(), p, idle, "--yes")
		must.Equal(t, fmt.Sprint(err), "server could not be asked: read "+s.root+"/idle: closed")
		closed, err := s.sweeper.PreviewSweep(t.Context(), p.Request)
		must.Equal(t, fmt.Sprint(err), "server could not be asked: sync "+s.root+": closed")
		must.Equal(t, closed.Request.Root, p.Request.Root, "root of the closed Sweeper")
		lines := auditLines(t, trail)
		swept := lines[7]
		must.True(t, len(lines) == 12 && swept["action"] == "sweep" && swept["released"] == true, "audit:", lines)
		must.True(t, swept["lock"] == "zk:"+idle.Path && swept["why"] == "a test", "audited", swept)
	})
}

func TestSweepReportsUnreadableNodes(t *testing.T) {
	t.Parallel()
	eachOwnZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		sweeper := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, nil)
		t.Cleanup(sweeper.Close)
		root := servertest.UniquePath(t)
		must.Have(conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll)))(t)
		for i := range shownUnread + 1 {
			must.Have(conn.Create(fmt.Sprint(root, "/shut", i), nil, 0, zk.WorldACL(zk.PermDelete)))(t)
		}
		p, err := sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Backend: "zk", Path: "/"}, Now: time.Now()})
		must.True(t, err == nil && len(p.Unread) == shownUnread && strings.HasSuffix(p.Unread[0], ": grant READ"), p, err)
		must.Equal(t, p.Walked, 2+shownUnread+1, "znodes without ZooKeeper's own")
		p, err = sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Path: root}, Within: 1})
		must.Equal(t, fmt.Sprint(err), "server could not be asked: list "+root+": context deadline exceeded")
		must.Equal(t, p.Request.Root.Path, root, "root of a preview that failed")
		_, err = sweeper.PreviewSweep(t.Context(), SweepRequest{Root: inspect.ID{Backend: "zk", Path: root + "/none"}})
		must.True(t, err != nil && errors.Is(err, ErrUnreachable), "a missing root:", err)
	})
}

func dated(by inspect.LeaderClock) *inspect.Backend { return &inspect.Backend{Name: "zk", Clock: by} }

// Recently used directories stay even if our clock or a former leader's clock is off. Those that
// cannot be dated are counted with a reason.
func TestSweepCountsByLeaderClock(t *testing.T) {
	t.Parallel()
	eachOwnZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		s := startSweeping(t, server.Addr, nil)
		_, stat, err := s.conn.Get(s.root + "/later")
		must.Succeed(t, err)
		type clock = inspect.LeaderClock
		const day = 24 * time.Hour
		const unread = "the servers' clock could not be compared with ours, so no age is known"
		const vague = "no timestamp by the servers' current clock shows that they have been idle for that long"
		ms, newer := time.UnixMilli(stat.Ctime), stat.Czxid+100
		for _, tt := range []struct {
			name                   string
			backend                *inspect.Backend
			ahead                  time.Duration // of our clock
			found, recent, undated int
			why                    string
		}{
			{"our clock is two days ahead", dated(clock{Known: true, From: 1, Offset: -2 * day}), 2 * day, 0, 2, 1, vague},
			{"used two days ago", dated(clock{Known: true, From: 1}), 2 * day, 2, 0, 1, vague},
			{"our clock is two days behind", dated(clock{Known: true, From: 1, Offset: 2 * day}), 0, 2, 0, 1, vague},
			{"dated by former leader", dated(clock{Known: true, From: newer, Oldest: ms.Add(2 * day)}), 2 * day, 0, 0, 3, vague},
			{"its successor has led for two days", dated(clock{Known: true, From: newer, Oldest: ms}), 2 * day, 3, 0, 0, ""},
			{"unknown clock", dated(clock{From: 1}), 2 * day, 0, 0, 3, vague},
			{"unknown clock, much later dates", dated(clock{From: 1, Newest: ms.Add(2 * day)}), 0, 2, 0, 1, vague},
			{"unknown clock, also early dates", dated(clock{From: 1, Oldest: ms.Add(-2 * day), Newest: ms}), 0, 0, 0, 3, vague},
			{"unknown clock, leader for days", dated(clock{From: newer, Oldest: ms, Newest: ms.Add(2 * day)}), 0, 3, 0, 0, ""},
			{"no clock was read", dated(clock{}), 2 * day, 0, 0, 3, unread},
			{"no backend", nil, 2 * day, 0, 0, 3, unread},
		} {
			s.backend = tt.backend
			p := s.preview(day, tt.ahead)
			must.Equal(t, [3]int{len(p.Found), p.Recent, p.Undated}, [3]int{tt.found, tt.recent, tt.undated}, tt.name)
			must.Equal(t, p.WhyUndated, tt.why, tt.name)
		}
	})
}

// A directory counts as idle from the exact time. The longest idle come first.
func TestSweepOrdersByIdleTime(t *testing.T) {
	const day = 24 * time.Hour
	used := time.UnixMilli(1_700_000_000_000)
	empty := []EmptyDir{{Path: "/b", pzxid: 3}, {Path: "/a", pzxid: 3}, {Path: "/c", pzxid: 1}}
	dates := []datedZxid{{3, used.UnixMilli()}, {1, used.Add(-day).UnixMilli()}}
	for now, want := range map[time.Time]string{
		used.Add(day):               "/c /a /b, recent 0",
		used.Add(day - time.Minute): "/c, recent 2",
	} {
		request := SweepRequest{Idle: day, Now: now, Backend: dated(inspect.LeaderClock{Known: true, From: 1})}
		w := &sweepWalk{p: SweepPreview{Request: request}, empty: empty, dated: slices.Clone(dates)}
		w.judge()
		paths := each.Of(w.p.Found, func(d EmptyDir) string { return d.Path })
		must.Equal(t, fmt.Sprint(strings.Join(paths, " "), ", recent ", w.p.Recent), want)
	}
}
