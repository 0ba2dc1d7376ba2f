package redissource

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
)

func TestTheGraceStartsWithTheFirstMasterThatIsWaitedFor(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := New(Config{
		Backend: "redis", Timeout: 10 * time.Second, Masters: []*redis.UniversalOptions{{Addrs: []string{mute.Addr().String()}}},
	}).newRun(ctx, func(inspect.Update) {})
	defer func() {
		cancel()
		r.masters[0].close()
		r.tasks.Wait()
		r.masters[0].close()
	}()
	r.masters[0].server.State = inspect.ServerUp
	r.late = time.NewTimer(time.Hour)
	r.add([]string{"lock:a"}) // found between two ticks
	if len(r.pending) != 1 {
		t.Fatalf("pending %v", r.pending)
	}
	select {
	case <-r.late.C:
	case <-time.After(10 * time.Second):
		t.Error("news would wait for as long as the master likes")
	}
}
