package tree

import (
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

// A server that is slow to answer is not asked once more at each beat for what it was asked for before;
// another connection is.
func TestAListThatIsOnItsWayIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	r := grown(Config{Roots: []string{"/l"}})
	r.server.Connected, r.focus = true, map[string]bool{"/l": true}
	r.dirs["/l"].access = map[string]accessList{"/l/a": {is: &inspect.Access{}}, "/l/b": {asked: true}}
	for beat, want := range []int{1, 1, 1} {
		if r.AskAccessAgain(); len(r.Queue.Alone) != want {
			t.Errorf("beat %d: %d requests, want %d", beat, len(r.Queue.Alone), want)
		}
	}
	r.Stop("")
	r.server.Connected = true
	if r.AskAccessAgain(); len(r.Queue.Alone) != 2 {
		t.Errorf("on another connection: %d requests", len(r.Queue.Alone))
	}
}
