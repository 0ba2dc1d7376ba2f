package node

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Requests share a client: the one that finds it broken throws it away, and the others say why, not that it was closed.
func TestARequestOnAClientThatWasThrownAwaySaysWhy(t *testing.T) {
	m := New("a:1", redis.UniversalOptions{Addrs: []string{"a:1"}}, Settings{Timeout: time.Second, Now: time.Now})
	client := func() *redis.Client { return newClient(m.options, readOnly{&m.sent}) }
	first, second, other := client(), client(), client()
	m.client = first
	slow, broken := late{time.Second, errors.New("i/o timeout")}, errors.New("broken pipe")
	closed := fmt.Errorf("read: %w", net.ErrClosed)
	for i, tt := range []struct {
		client    *redis.Client
		why, want error
	}{
		{first, slow, slow}, {first, closed, slow}, {first, redis.ErrClosed, slow}, {first, broken, broken}, {other, closed, closed},
	} {
		if got := m.drop(tt.client, tt.why); !errors.Is(got, tt.want) {
			t.Errorf("%d: %v, want %v", i, got, tt.want)
		}
	}
	m.client = second
	if got := m.drop(second, broken); !errors.Is(got, broken) || m.client != nil {
		t.Errorf("the next client: %v", got)
	}
	if got := m.drop(second, closed); !errors.Is(got, broken) {
		t.Errorf("the next client, closed: %v", got)
	}
}
