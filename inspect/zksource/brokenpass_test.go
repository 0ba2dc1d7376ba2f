package zksource

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/must"
)

// A connection that ends while the last requests are on their way ends no pass: that they get no answer is
// heard before the end is.
func TestAnEndOfTheConnectionIsNoEndOfThePass(t *testing.T) {
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
		must.Equal(t, w.tree.FirstPass, name == "none", name, "the pass is done")
	}
}
