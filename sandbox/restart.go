package sandbox

import (
	"context"
	"time"
)

const flightsKey = "lock:flights"

// restart shows a master without persistence that comes back at once: it has forgotten the lock, and has a vote to give away.
func restart() Scenario {
	return Scenario{
		Name:  "restart",
		About: "one of three masters restarts empty: its vote for the lock is gone, and free for another",
		scenes: []Scene{{
			Title: "restarted empty", Lock: "three:" + flightsKey,
			Text: "One of three masters comes back without the key that it had voted for: one more, and two hold it. f: what is wrong.",
		}},
		play: func(s *Sandbox) error {
			masters, err := s.startMasters("three", 3)
			if err != nil {
				return err
			}
			s.run(func(ctx context.Context) { s.bookFlights(ctx, masters) })
			return nil
		},
	}
}

// bookFlights takes the lock on all masters; some way into each hold one of them, in turn, restarts with nothing.
func (s *Sandbox) bookFlights(ctx context.Context, masters []*redisServer) {
	for n := 0; ctx.Err() == nil; n++ {
		set := func(value string) {
			for _, m := range masters {
				c := plainClient(m.addr)
				if value == "" {
					c.Del(context.WithoutCancel(ctx), flightsKey)
				} else {
					c.SetNX(ctx, flightsKey, redsyncValue(value), 40*time.Second)
				}
				_ = c.Close() // nothing of it is kept
			}
		}
		set(names("flight", 3)[n%3])
		on := pause(ctx, 5*time.Second) && masters[n%len(masters)].restartEmpty() == nil && pause(ctx, 25*time.Second)
		set("")
		if !on || !pause(ctx, 2*time.Second) {
			return
		}
	}
}
