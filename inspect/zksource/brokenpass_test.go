package zksource

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/must"
)

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
