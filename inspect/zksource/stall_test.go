package zksource

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/ensemble"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// watched is a run with a clock that the test moves. It is connected and has read /l, which has a
// holder and a waiter.
type watched struct {
	*run
	clock   atomic.Pointer[time.Time] // also read by the goroutine that connects
	emitted []inspect.Update
}

const firstNode, secondNode = guid + "__lock__0000000001", guid + "__lock__0000000002"

func watchedRun(t *testing.T) *watched {
	w := &watched{}
	w.set(noon)
	w.run = testRun(t, Config{Roots: []string{"/l"}, Now: w.now})
	w.emit = func(u inspect.Update) { w.emitted = append(w.emitted, u) }
	ended, stop := context.WithCancel(t.Context())
	stop()
	w.stall.Start(ended)() // stops at once, so that only beat marks the time
	l := must.Have(open(w.cfg, w.cfg.Servers, time.Second, 0, w.inbox))(t)
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

func (w *watched) set(now time.Time) { w.clock.Store(&now) }

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
	w.pacing.batches++
	return b
}

// list answers a request for /l immediately.
func (w *watched) list(at time.Time, names ...string) {
	w.event(linkEvent{link: w.conn.link, at: at, kind: linkAnswered, batch: w.request(at, names...)})
}

func TestAnswerBeforeStallIsNotCurrent(t *testing.T) {
	t.Parallel()
	w := watchedRun(t)
	first, lists := w.conn.link, w.request(noon, secondNode) // the holder has released; the answer reaches the socket
	w.set(noon.Add(18 * time.Second))                        // and is read after the pause
	w.beat()
	w.set(w.now().Add(time.Millisecond))
	w.event(linkEvent{link: first, at: w.now(), kind: linkAnswered, batch: lists})
	w.event(linkEvent{link: first, at: w.now(), kind: linkFired, path: "/l/" + secondNode, what: zk.EventNodeDeleted})
	w.event(linkEvent{link: first, at: w.now(), kind: linkLost}) // its session expired meanwhile
	w.beat()
	want := inspect.Gap{Backend: "zk", From: noon, Until: noon.Add(18 * time.Second)}
	if len(w.emitted) != 1 || w.emitted[0].Gap == nil {
		t.Fatalf("emitted %+v, want the gap alone", w.emitted)
	}
	must.Equal(t, *w.emitted[0].Gap, want)
	must.True(t, w.conn.link != first && w.conn.lost == 0 && w.conn.why == "", "a lost connection", w.conn.why)
	must.Equal(t, w.conn.retryAt, want.Until, "retry at")
	must.Equal(t, w.ensemble.DisturbedAt(), want.Until, "disturbed at")
}

// Reads from before a stall are reported after it, with their old dates.
func TestEventsHeldByStallFollowGap(t *testing.T) {
	t.Parallel()
	w := watchedRun(t)
	w.set(noon.Add(time.Second))
	w.list(w.now(), secondNode)
	w.set(noon.Add(20 * time.Second))
	w.beat()
	if len(w.emitted) != 2 || w.emitted[0].Gap == nil || len(w.emitted[1].Put) != 1 {
		t.Fatalf("emitted %+v", w.emitted)
	}
	must.Equal(t, w.emitted[1].Put[0].ReadAt, noon.Add(time.Second), "read at")
	must.Equal(t, w.emitted[1].At, w.now(), "reported at")
}

func TestStallRequestsTablesAgain(t *testing.T) {
	t.Parallel()
	w := watchedRun(t)
	w.inquiries.asking, w.inquiries.askedAt = true, noon
	w.extra = inspect.Update{Sessions: map[int64]inspect.Session{7: {}}, AllSessions: true}
	w.set(noon.Add(18 * time.Second))
	w.beat()
	w.identify(&ensemble.Report{Sessions: map[int64]inspect.Session{7: {}}})
	w.beat()
	for _, u := range w.emitted {
		must.True(t, u.Sessions == nil, "emitted", u)
	}
	must.True(t, !w.inquiries.asking && !w.inquiries.askAt.After(w.now()), "asks at", w.inquiries.askAt)
}

// A stall lasts until the source has reconnected.
func TestStallLastsUntilReconnection(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{100 * time.Millisecond, 6 * time.Second} {
		w := watchedRun(t)
		w.set(noon.Add(18 * time.Second))
		w.attend()
		gaps := 1
		w.set(w.now().Add(took))
		if took > time.Second {
			gaps = 2
		}
		w.looksAgain(w.now())
		w.looksAgain(w.now().Add(time.Hour)) // a later reconnect
		last := w.emitted[len(w.emitted)-1].Gap
		must.Equal(t, len(w.emitted), gaps, "gaps after", took)
		must.True(t, last.From.Equal(noon) && (gaps == 1 || last.Until.Equal(w.now())), "after", took, last)
	}
}

func TestLostConnectionCountsAsDisturbance(t *testing.T) {
	t.Parallel()
	w := watchedRun(t)
	w.ensemble.Disturb(noon)
	lost := noon.Add(time.Second)
	w.set(lost)
	w.event(linkEvent{link: w.conn.link, at: lost, kind: linkLost})
	must.True(t, w.ensemble.DisturbedAt().Equal(lost), "disturbed at", w.ensemble.DisturbedAt(), "want", lost)
}

// A connection that breaks during the last requests does not complete the pass. Their failures arrive
// before the loss of the connection.
func TestConnectionLossDoesNotEndPass(t *testing.T) {
	t.Parallel()
	for name, unanswered := range map[string]func(w *watched){
		"none": func(*watched) {},
		"for many reads": func(w *watched) {
			b := w.request(noon, firstNode, secondNode)
			b.err = zk.ErrConnectionClosed
			w.event(linkEvent{link: w.conn.link, at: noon, kind: linkAnswered, batch: b})
		},
		"for one": func(w *watched) {
			w.pacing.flying++
			w.result(result{Reply: tree.Reply{Err: zk.ErrConnectionClosed}, link: w.conn.link})
		},
	} {
		w := watchedRun(t)
		w.inbox = newInbox()
		w.tree.FirstPass = false
		w.tree.Queue = tree.Queue{}
		unanswered(w)
		w.finishPass(noon)
		must.Equal(t, w.tree.FirstPass, name == "none", name, "unanswered; the first pass is done")
	}
}
