package zksource

import (
	"testing"

	"github.com/go-zookeeper/zk"
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
			w.event(linkEvent{link: w.link, at: noon, kind: linkAnswered, batch: b})
		},
		"for one": func(w *watched) { w.answer(jobStat, "/l", "", noon, nil, zk.ErrConnectionClosed) },
	} {
		w := watchedRun(t)
		w.inbox = newInbox()
		w.firstPass = false
		w.queue.clear()
		unanswered(w)
		w.finishPass(noon)
		if want := name == "none"; w.firstPass != want {
			t.Errorf("%s: the pass is done: %v", name, w.firstPass)
		}
	}
}
