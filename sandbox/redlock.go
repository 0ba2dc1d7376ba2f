package sandbox

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/lockops"
)

// redlock shows locks on five Redis masters: votes, TTLs that run down and are renewed, a master that goes and comes.
func redlock() Scenario {
	return Scenario{
		Name:  "redlock",
		About: "locks on five Redis masters: votes, validity, and a master that comes and goes",
		captions: []string{
			"redis:lock:cart:42 needs 3 of 5 masters: open it and watch the votes",
			"now and then a master stops: the lock lives on with 4 of 5",
		},
		play: func(s *Sandbox) error {
			masters := make([]*redis.UniversalOptions, len(s.masters))
			for i, addr := range s.addrs {
				masters[i] = &redis.UniversalOptions{Addrs: []string{addr}}
			}
			for _, worker := range names("cart", 3) {
				ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
				session, err := lockops.NewRedisSession(ctx, masters)
				cancel()
				if err != nil {
					return err
				}
				s.closers = append(s.closers, session.Close)
				lock := lockops.NewRedlock(session, "lock:cart:42", lockops.WithLabel(worker), lockops.WithTTL(8*time.Second))
				s.run(func(ctx context.Context) {
					s.contend(ctx, lock, span{3 * time.Second, 7 * time.Second}, span{time.Second, 3 * time.Second})
				})
			}
			s.run(s.redsyncClient)
			s.run(s.stopAndStartAMaster)
			return nil
		},
	}
}

// redsyncClient writes locks the way redsync does, by raw commands: the same random base64 value on every master, no
// renewal, released before it runs out.
func (s *Sandbox) redsyncClient(ctx context.Context) {
	clients := make([]*redis.Client, len(s.masters))
	for i, addr := range s.addrs {
		clients[i] = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialTimeout: time.Second})
		defer clients[i].Close()
	}
	for n := 0; ctx.Err() == nil; n++ {
		value := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "redsync-%08d", n%1e8))
		for _, c := range clients {
			c.SetNX(ctx, "lock:invoices", value, 8*time.Second)
		}
		held := pause(ctx, s.between(3*time.Second, 6*time.Second))
		for _, c := range clients {
			c.Del(context.WithoutCancel(ctx), "lock:invoices")
		}
		if !held || !pause(ctx, s.between(time.Second, 2*time.Second)) {
			return
		}
	}
}

// stopAndStartAMaster takes one master away for a while, again and again; it comes back with what it had.
func (s *Sandbox) stopAndStartAMaster(ctx context.Context) {
	for n := 0; pause(ctx, 12*time.Second); n++ {
		m := s.masters[n%len(s.masters)]
		m.Close()
		pause(ctx, 5*time.Second)
		if err := m.Restart(); err != nil {
			return // its port was taken meanwhile: the demo goes on with four
		}
	}
}
