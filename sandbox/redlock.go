package sandbox

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"lockscope/lockops"
)

// redlock shows locks on five Redis masters: votes, TTLs that run down and are renewed, a master that goes and comes.
func redlock() Scenario {
	return Scenario{
		Name:  "redlock",
		About: "locks on five Redis masters: votes, validity, and a master that comes and goes",
		scenes: []Scene{
			{
				Title: "majority of masters", Lock: "redis:lock:cart:42",
				Text: "Whoever has three of five masters holds it. Now and then one stops: enter shows the votes, b the masters.",
			},
			{
				Title: "a race", Lock: "redis:lock:invoices",
				Text: "redsync's lock has no queue: waiters retry, and luck decides. enter: its votes expire.",
			},
		},
		play: func(s *Sandbox) error {
			for _, name := range names("cart", 3) {
				session, err := s.redisSession()
				if err != nil {
					return err
				}
				lock := lockops.NewRedlock(session, "lock:cart:42", lockops.WithLabel(name), lockops.WithTTL(8*time.Second))
				w := s.worker(name)
				s.run(func(ctx context.Context) {
					w.contend(ctx, lock, job{
						lock: "redis:lock:cart:42", work: span{3 * time.Second, 7 * time.Second}, think: span{time.Second, 3 * time.Second},
					})
				})
			}
			s.run(s.worker("redsync").redsyncClient)
			s.run(s.stopAndStartAMaster)
			return nil
		},
	}
}

// redsyncClient writes locks the way redsync does, by raw commands: the same random base64 value on every master, no
// renewal, released before it runs out.
func (w *worker) redsyncClient(ctx context.Context) {
	clients := w.redisClients()
	defer closeAll(clients)
	for n := 0; ctx.Err() == nil; n++ {
		value := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "redsync-%08d", n%1e8))
		for _, c := range clients {
			c.SetNX(ctx, "lock:invoices", value, 8*time.Second)
		}
		held := w.pauseFor(ctx, span{3 * time.Second, 6 * time.Second})
		for _, c := range clients {
			c.Del(context.WithoutCancel(ctx), "lock:invoices")
		}
		if !held || !w.pauseFor(ctx, span{time.Second, 2 * time.Second}) {
			return
		}
	}
}

// stopAndStartAMaster takes one master away for a while, again and again; it comes back with what it had. A master that
// somebody has stopped by hand is left alone.
func (s *Sandbox) stopAndStartAMaster(ctx context.Context) {
	for n := 0; pause(ctx, 20*time.Second); n++ {
		addr := s.addrs[n%len(s.addrs)]
		if s.Stopped(addr) || s.StopMaster(addr) != nil {
			continue
		}
		pause(ctx, 5*time.Second)
		_ = s.StartMaster(addr) // its port may have been taken meanwhile: the demo goes on with four
	}
}
