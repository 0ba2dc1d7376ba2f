package sandbox

import (
	"context"
	"time"
)

const (
	billingKey = "lock:billing"
	clockStep  = time.Minute
)

// clock shows a clock that steps: Redis counts times to live by it.
func clock() Scenario {
	return Scenario{
		Name:  "clock",
		About: "a Redis server's clock steps a minute ahead: its locks expire at once, and two hold one",
		scenes: []Scene{{
			Title: "stepped clock", Lock: "single:" + billingKey,
			Text: "Its clock steps a minute ahead: the key expires under billing-1, and billing-2 is granted it. f: what is wrong; e: events.",
		}},
		play: func(s *Sandbox) error {
			masters, err := s.startMasters("single", 1)
			if err != nil {
				return err
			}
			s.run(func(ctx context.Context) { s.bill(ctx, masters[0]) })
			return nil
		},
	}
}

// bill has two clients take turns at the lock; in each of the first's turns the clock steps ahead, and NTP sets it right after
// a while, when nobody holds it.
func (s *Sandbox) bill(ctx context.Context, m *redisServer) {
	c := plainClient(m.addr)
	defer c.Close()
	acquire := func(name string) { c.SetNX(ctx, billingKey, redsyncValue(name), 30*time.Second) }
	for ctx.Err() == nil {
		acquire("billing-1")
		if !pause(ctx, 5*time.Second) {
			return
		}
		m.stepClock(clockStep)
		acquire("billing-2")
		if !pause(ctx, 25*time.Second) {
			return
		}
		c.Del(ctx, billingKey)
		if !pause(ctx, 2*time.Second) {
			return
		}
		m.stepClock(-clockStep)
		for n := range 4 {
			acquire(names("billing", 2)[n%2])
			if !pause(ctx, 3*time.Second) {
				return
			}
			c.Del(ctx, billingKey)
			if !pause(ctx, time.Second) {
				return
			}
		}
	}
}
