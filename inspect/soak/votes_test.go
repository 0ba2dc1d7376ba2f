package soak

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ballot holds the five masters' values of the Redlock's key, read one after another.
type ballot [5]string

// silent marks a master that did not answer.
const silent = "?"

// state names a state of a Redlock that deserves a finding, or is empty. All masters must have
// answered.
func (b ballot) state() string {
	votes, most := map[string]int{}, 0
	for _, value := range b {
		if value == silent {
			return ""
		}
		if value != "" {
			votes[value]++
			most = max(most, votes[value])
		}
	}
	switch {
	case most == 3:
		return "three of five"
	case most > 3 || most == 0:
		return ""
	case len(votes) > 1:
		return "split votes"
	default:
		return "votes left over"
	}
}

// minDuration is the minimum duration of a state. Contending clients cause shorter ones.
const minDuration = 900 * time.Millisecond

// poll records lasting states of the Redlock's key as faults until ctx ends. On a busy machine, a
// client may get three of five votes, or be late to take one back.
func (f *faults) poll(ctx context.Context, w *world) {
	var masters [5]*redis.Client
	for i, m := range w.masters {
		masters[i] = redis.NewClient(&redis.Options{Addr: m.Addr, MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second, Protocol: 2})
		defer masters[i].Close()
	}
	var last ballot
	var since time.Time
	var end func()
	for pause(ctx, 200*time.Millisecond) {
		at := time.Now()
		var now ballot
		for i, c := range masters {
			var err error
			if now[i], err = c.Get(ctx, "lock:redlock").Result(); err != nil && !errors.Is(err, redis.Nil) {
				now[i] = silent
			}
		}
		if now != last {
			if end != nil {
				end()
			}
			last, since, end = now, at, nil
		}
		if state := now.state(); state != "" && end == nil && at.Sub(since) >= minDuration {
			end = f.since(since, state, redlockName)
		}
	}
	if end != nil {
		end()
	}
}
