package zksource

import (
	"testing"

	"lockscope/inspect"
)

// A server that is slow to answer is not asked once more at each beat for what it was asked for before;
// another connection is.
func TestAListThatIsOnItsWayIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	d := &dir{path: "/l", access: map[string]accessList{"/l/a": {is: &inspect.Access{}}, "/l/b": {}}}
	r := &run{ready: true, link: &link{}, dirs: map[string]*dir{"/l": d}, focus: map[string]bool{"/l": true}}
	for beat, want := range []int{1, 1, 1} {
		if r.requestAccessAgain(); len(r.queue.reads) != want {
			t.Errorf("beat %d: %d requests, want %d", beat, len(r.queue.reads), want)
		}
	}
	r.link = &link{}
	if r.requestAccessAgain(); len(r.queue.reads) != 2 {
		t.Errorf("on another connection: %d requests", len(r.queue.reads))
	}
}
