package node

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/internal/stall"
)

// A server that did not answer while this process stood still is not to blame, and what it answered then says
// nothing: neither of keys nor of its clock.
func TestARequestThatAStallInterruptsIsNobodysFailure(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	clock := first
	watch := stall.New(func() time.Time { return clock })
	ended, stop := context.WithCancel(t.Context())
	stop()
	watch.Start(ended)()
	addr := mute.Addr().String()
	m := New(addr, redis.UniversalOptions{Addrs: []string{addr}}, Settings{
		Timeout: 10 * time.Millisecond, Now: func() time.Time { return clock }, Stall: watch,
	})
	defer m.Close()
	request := func(stood time.Duration, err error) error {
		clock = clock.Add(time.Millisecond)
		return m.do(t.Context(), func(context.Context, redis.UniversalClient) error {
			clock = clock.Add(stood)
			return err
		})
	}
	for _, err := range []error{nil, context.DeadlineExceeded} {
		if got := request(18*time.Second, err); !errors.Is(got, ErrStood) {
			t.Errorf("%v is reported as %v", err, got)
		}
		if got := request(2*time.Second, err); !errors.Is(got, err) || errors.Is(got, ErrStood) {
			t.Errorf("%v of a slow server is reported as %v", err, got)
		}
	}
}
