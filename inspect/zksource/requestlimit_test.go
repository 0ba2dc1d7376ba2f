package zksource

import (
	"strings"
	"testing"
	"time"
)

// ended is a run whose connection has ended while requests of these lengths, in bytes, were without an answer, behind answered ones.
func ended(t *testing.T, answered, unanswered []int) *watched {
	t.Helper()
	w := watchedRun(t)
	w.inbox = newInbox()
	w.endOne(answered, unanswered)
	return w
}

// endOne is the end of one more.
func (w *watched) endOne(answered, unanswered []int) {
	l := w.link
	l.server = "a:1"
	for _, length := range answered {
		l.asked(length)
		l.took(length)
	}
	for _, length := range unanswered {
		l.asked(length)
	}
	w.event(linkEvent{link: l, at: w.now(), kind: linkLost})
}

// again connects anew.
func (w *watched) again(t *testing.T) {
	t.Helper()
	l, err := open(w.cfg, w.cfg.Servers, false, time.Second, 0, newInbox())
	if err != nil {
		t.Fatal(err)
	}
	w.link, l.server = l, "a:1"
}

// A connection that ends by a long request, as it seems, is followed by one with shorter ones.
func TestRequestsAreShorterBehindOneThatEndedTheConnection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answered, unanswered []int
		most                 int
	}{
		"nothing is on its way":    {[]int{9000}, nil, requestGoal},
		"short ones are":           {nil, []int{shortRequest, 40}, requestGoal},
		"long ones are":            {nil, []int{9000, 14000}, 7000},
		"shorter ones were none":   {[]int{9000}, []int{14000}, 9000},
		"longer ones were none":    {[]int{9000}, []int{8000}, requestGoal},
		"one is hardly long":       {nil, []int{shortRequest + 1}, shortRequest},
		"one is beyond all others": {nil, []int{2 * requestGoal}, requestGoal / 2},
	} {
		w := ended(t, tt.answered, tt.unanswered)
		w.again(t)
		if limit, _ := w.requestLimit(); limit.most != tt.most || limit.tooLong != 0 {
			t.Errorf("%s: %+v, want %d", name, limit, tt.most)
		}
	}
}

// A path is too long when it ended the connection again, and nothing longer was on its way. A server that was gone, and the hour, put
// an end to such beliefs.
func TestAPathIsTooLongTheSecondTime(t *testing.T) {
	t.Parallel()
	w := ended(t, nil, []int{9000, 14000})
	w.again(t)
	if w.tooLong(9000) {
		t.Error("too long by one end")
	}
	w.endOne(nil, []int{9000, 3000})
	w.again(t)
	if limit, _ := w.requestLimit(); limit.most != 7000 || !w.tooLong(9000) || !w.tooLong(9001) || w.tooLong(8999) {
		t.Errorf("%+v", limit)
	}
	w.set(noon.Add(lackingFor + time.Second))
	if limit, known := w.requestLimit(); known || limit.most != requestGoal || w.tooLong(9000) {
		t.Errorf("after an hour: %+v", limit)
	}
	w.set(noon)
	w.link.errors["a:1"] = "connection refused"
	w.event(linkEvent{link: w.link, at: noon, kind: linkFailed})
	w.again(t)
	if limit, known := w.requestLimit(); known {
		t.Errorf("it was gone: %+v", limit)
	}
}

// Of two paths that may be too long one is asked for at a time.
func TestTwoPathsThatMayBeTooLongAreAskedForOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := ended(t, nil, []int{9000, 14000})
	w.again(t)
	long := job{kind: jobGet, dir: w.dirs["/l"], name: strings.Repeat("x", 9000)}
	if w.waitsAlone(&long) {
		t.Error("nothing is on its way")
	}
	w.link.asked(6000)
	if w.waitsAlone(&long) {
		t.Error("waits for one that is not too long")
	}
	w.link.asked(9000)
	if !w.waitsAlone(&long) || w.waitsAlone(&job{kind: jobGet, dir: w.dirs["/l"], name: firstNode}) {
		t.Error("does not wait, or all do")
	}
	w.link.took(9000)
	if w.waitsAlone(&long) {
		t.Error("waits for what was answered")
	}
}
