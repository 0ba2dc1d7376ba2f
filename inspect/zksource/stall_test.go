package zksource

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// watched is a run with a clock that the test moves. It is connected and has read /l, which has a
// holder and a waiter.
type watched struct {
	*run
	clock   atomic.Pointer[time.Time] // also read by the goroutine that connects
	dials   chan error                // the errors of the next attempts to connect
	dialled chan struct{}             // the other attempts
	emitted []inspect.Update
	ended   context.Context
}

const firstNode, secondNode = guid + "__lock__0000000001", guid + "__lock__0000000002"

func watchedRun(t *testing.T, cfg Config) *watched {
	w := &watched{dials: make(chan error, 9), dialled: make(chan struct{}, 9)}
	w.set(noon)
	cfg.Roots, cfg.Now, cfg.Dial = []string{"/l"}, w.now, w.dial
	w.run = testRun(t, cfg)
	w.beats.session = time.Hour // for the server that never answers
	w.emit = func(u inspect.Update) { w.emitted = append(w.emitted, u) }
	var stop context.CancelFunc
	w.ended, stop = context.WithCancel(t.Context())
	stop()
	w.pass(noon)
	l := must.Have(open(w.cfg, w.cfg.Servers, w.beats.session, 0, w.inbox))(t)
	<-w.dialled
	t.Cleanup(func() {
		w.dropLink()
		w.tasks.Wait()
	})
	w.conn.link, w.conn.ready, w.conn.many = l, true, true
	w.conn.watched, w.tree.FirstPass = []string{"/l"}, true
	w.tree.Start(tree.Server{Many: true, Watched: w.conn.watched, Since: noon})
	w.list(noon, firstNode, secondNode)
	w.beat()
	if len(w.emitted) != 1 || len(w.emitted[0].Put) != 1 {
		t.Fatalf("emitted %+v", w.emitted)
	}
	w.emitted = nil
	return w
}

// dial fails as the test wants. Otherwise it connects to a server that never answers.
func (w *watched) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-w.dials:
		return nil, err
	default:
		ours, its := net.Pipe()
		go io.Copy(io.Discard, its)
		w.dialled <- struct{}{}
		return ours, nil
	}
}

func (w *watched) set(now time.Time) { w.clock.Store(&now) }

// pass lets time pass without a stall. Its beats end at once, so only beat marks the time.
func (w *watched) pass(now time.Time) {
	w.set(now)
	w.stall.Start(w.ended)()
}

func (w *watched) now() time.Time { return *w.clock.Load() }

// beat is one iteration of the run's loop.
func (w *watched) beat() {
	now := w.attend()
	w.connect(now)
	w.tree.Build(now)
	w.flush(now)
}

// request is an answered request for the children of /l and these nodes in it.
func (w *watched) request(sent time.Time, names ...string) *batch {
	d := w.tree.Dir("/l")
	b := &batch{sent: sent, jobs: []tree.Job{{Kind: tree.JobList, Dir: d}}}
	b.results = []zkwire.ReadResult{{Names: names, Stat: zk.Stat{Czxid: 1, NumChildren: int32(len(names))}}}
	for i, name := range names {
		b.jobs = append(b.jobs, tree.Job{Kind: tree.JobGet, Dir: d, Name: name})
		b.results = append(b.results, zkwire.ReadResult{Stat: zk.Stat{Czxid: int64(i + 2), EphemeralOwner: int64(i + 7)}})
	}
	b.items, b.bytes = len(b.jobs), 30*len(b.jobs)
	w.pacing.batches++
	return b
}

// list answers a request for /l immediately.
func (w *watched) list(at time.Time, names ...string) {
	w.event(linkEvent{link: w.conn.link, at: at, kind: linkAnswered, batch: w.request(at, names...)})
}

// Reads from before a stall are reported after it, with their old dates. The gap begins where the news
// before the stall ended.
func TestEventsHeldByStallFollowGap(t *testing.T) {
	t.Parallel()
	w := watchedRun(t, Config{})
	w.set(noon.Add(time.Second))
	w.list(w.now(), secondNode)
	w.attend()
	w.heardAt = noon // by a Sync
	w.extra = inspect.Update{Sessions: map[int64]inspect.Session{7: {}}}
	w.set(noon.Add(20 * time.Second))
	w.beat()
	if len(w.emitted) != 2 || w.emitted[0].Gap == nil || len(w.emitted[1].Put) != 1 {
		t.Fatalf("emitted %+v", w.emitted)
	}
	must.Equal(t, *w.emitted[0].Gap, inspect.Gap{Backend: "zk", From: noon, Until: w.now()})
	must.Equal(t, w.emitted[1].Put[0].ReadAt, noon.Add(time.Second), "read at")
	must.Equal(t, w.emitted[1].At, w.now(), "reported at")
	must.True(t, w.emitted[1].Sessions == nil, "sessions from before the stall", w.emitted[1].Sessions)
}

func TestConnectingIsNotReported(t *testing.T) {
	t.Parallel()
	w := watchedRun(t, Config{})
	w.conn.ready, w.backend.stale = false, true
	w.beat()
	must.Equal(t, len(w.emitted), 0, "reports before there is a reason")
	w.conn.ready, w.pacing.throttle = true, time.Millisecond
	must.Equal(t, w.untilNext(w.now()), time.Millisecond, "wakes when the budget has a request again")
	must.Equal(t, w.conn.link.tap.Greeting, w.beats.session/3, "time for a session")
	must.Equal(t, watchedRun(t, Config{Once: true}).conn.link.tap.Greeting, 0, "time for it in one pass")
}
