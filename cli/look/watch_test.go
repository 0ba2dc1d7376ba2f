package look

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
)

func TestWatchReportsDroppedEventCount(t *testing.T) {
	var stdout, stderr bytes.Buffer
	w := &watch{App: &app.App{Environment: app.Environment{Stdout: &stdout, Stderr: &stderr}}, events: render.EventLines{To: bufio.NewWriter(&stdout)}}
	if err := w.print(&inspect.Snapshot{Dropped: 7}); err != nil || !strings.Contains(stderr.String(), "7 events not printed") {
		t.Errorf("%v, %q", err, stderr.String())
	}
}

// The number of locks does not include those of unread backends, so watch names these next to it.
func TestWatchNamesUnseenBackends(t *testing.T) {
	var stdout, stderr bytes.Buffer
	w := &watch{App: &app.App{Environment: app.Environment{Stdout: &stdout, Stderr: &stderr}}, events: render.EventLines{To: bufio.NewWriter(&stdout)}}
	backends := []*inspect.Backend{{Name: "zk", State: inspect.Connected, FirstPass: true}, {Name: "redis", State: inspect.Connected}}
	if err := w.print(inspect.NewSnapshot(time.Now(), backends, nil)); err != nil || stderr.Len() != 0 {
		t.Errorf("%v, %q before redis was asked", err, stderr.String())
	}
	backends[1].State = inspect.Down
	if err := w.print(inspect.NewSnapshot(time.Now(), backends, nil)); err != nil || !strings.Contains(stderr.String(), "watching 0 locks, not read yet: redis; press Ctrl-C to stop") {
		t.Errorf("%v, %q", err, stderr.String())
	}
}
