package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/redis/go-redis/v9"
)

// split shows a key on five masters that nobody has a majority of.
func split() Scenario {
	return Scenario{
		Name:  "split",
		About: "a Redis lock split between three clients: nobody has three of five masters",
		scenes: []Scene{
			{
				Title: "split vote", Lock: "redis:lock:seats",
				Text: "Three clients ask at once, and each may get too few of the masters to hold it. enter shows the votes.",
			},
			{
				Title: "no expiry", Lock: "redis:lock:nightly",
				Text: "This key has no TTL: it stays until someone deletes it. f: what is wrong; enter, x: release it.",
			},
		},
		play: func(s *Sandbox) error {
			s.run(s.bookSeats)
			s.run(s.forgetExpiry)
			return nil
		},
	}
}

// rounds give the masters to clients, in turn: a tie, a majority without any margin, a rest below the majority.
var rounds = []struct {
	winner [mastersCount]string
	ttl    time.Duration
}{
	{[mastersCount]string{"seat-a", "seat-a", "seat-b", "seat-b", "seat-c"}, 14 * time.Second},
	{[mastersCount]string{"seat-b", "seat-b", "seat-b", "", ""}, 8 * time.Second},
	{[mastersCount]string{"seat-c", "seat-c", "", "", ""}, 6 * time.Second},
}

// bookSeats writes what racing clients leave on the masters, round by round.
func (s *Sandbox) bookSeats(ctx context.Context) {
	clients := s.redisClients()
	defer closeAll(clients)
	for n := 0; ctx.Err() == nil; n++ {
		r := rounds[n%len(rounds)]
		for i, c := range clients {
			if r.winner[i] != "" {
				c.SetNX(ctx, "lock:seats", redsyncValue(r.winner[i]), r.ttl)
			}
		}
		if !pause(ctx, r.ttl+2*time.Second) {
			return
		}
	}
}

// forgetExpiry leaves a key that never runs out, and leaves it again some time after somebody has removed it.
func (s *Sandbox) forgetExpiry(ctx context.Context) {
	clients := s.redisClients()
	defer closeAll(clients)
	for {
		for _, c := range clients {
			c.SetNX(ctx, "lock:nightly", redsyncValue("nightly"), 0)
		}
		if !pause(ctx, 2*time.Minute) {
			return
		}
	}
}

// redisClients are one plain client for each master.
func (s *Sandbox) redisClients() []*redis.Client {
	clients := make([]*redis.Client, len(s.addrs))
	for i, addr := range s.addrs {
		clients[i] = plainClient(addr)
	}
	return clients
}

func plainClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialTimeout: time.Second, PoolSize: 1, DialerRetries: 1})
}

func closeAll(clients []*redis.Client) {
	for _, c := range clients {
		_ = c.Close() // nothing of it is kept
	}
}

// redsyncValue is a value in redsync's form, 16 bytes in base64, always the same for a client: findings come only where a
// key is likely to be a lock.
func redsyncValue(client string) string {
	sum := sha256.Sum256([]byte(client))
	return base64.StdEncoding.EncodeToString(sum[:16])
}
