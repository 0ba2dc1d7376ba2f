package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// waits is one way of testdata/waits.yaml in which a library's client waits for a lock.
type waits struct {
	Library, How    string
	Write           []string
	Key, Holder, Me string
	String          string
	Try             string
	Keys            []string
	Args            []any
	Until           until
}

// until ends a pause between two tries. An empty one stands for the program's next call, which must
// succeed: the library does not wait.
type until struct {
	Poll     bool
	Channel  string // a pattern
	Messages []string
	List, To string // BLPOP, or BLMOVE to a list
}

func redisWaits(t *testing.T) []waits {
	t.Helper()
	all := load[waits](t, "waits.yaml", "a")
	// another value of the same form, for the waiter
	another := strings.NewReplacer("0c4f1b2e", "0c4f1b2f", "5f0c1d4e", "5f0c1d4f", "YWFh", "YmJi", "Y2Nj", "ZGRk", "4711", "4712", "worker", "another", "aB3d", "bB3d")
	for _, l := range recipe.StringLocks() {
		for i := range all {
			if w := &all[i]; w.String == l.Name {
				w.Key, w.Holder, w.Me = strings.Replace(l.Key, "NAME", "a", 1), l.Value, another.Replace(l.Value)
				w.Write = []string{"SET " + w.Key + " " + w.Holder + " PX 3600000"}
			}
		}
	}
	return all
}

// A waiter that waits as its library does gets the lock after its holder was released, and is then
// reported as the holder.
func TestRedisWaitersTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	server, client, releaser := onOneMaster(t)
	for _, w := range redisWaits(t) {
		t.Run(w.Library+" "+w.How, func(t *testing.T) {
			if w.Me == w.Holder {
				t.Fatal("the waiter has the holder's value")
			}
			leave(t, client, w.Write...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			refused, granted := make(chan struct{}), make(chan error, 1)
			called := make(chan struct{})
			go func() { granted <- w.acquire(ctx, client, refused, called) }()
			select {
			case <-refused:
			case err := <-granted:
				t.Fatalf("not refused at first: %v", err)
			}
			if w.Until.List != "" {
				must.Become(t, "a blocked client", func() bool {
					return strings.Contains(client.Info(ctx, "clients").Val(), "blocked_clients:1")
				})
			}
			releaseFirst(t, releaser, inspect.ID{Backend: "redis", Path: w.Key}, inspect.Untrusted(w.Holder))
			close(called)
			must.Succeed(t, <-granted)
			l := lockOf(t, server.Addr, w.Key)
			must.True(t, l != nil && len(l.Holders) == 1 && l.Holders[0].Name.Raw() == w.Me,
				w.Me, "does not hold it:", l)
		})
	}
}

// acquire tries until it gets the lock. It closes refused after the first refusal, once it is
// subscribed. called stands for the next call of a program whose library does not wait.
func (w waits) acquire(ctx context.Context, c *redis.Client, refused chan<- struct{}, called <-chan struct{}) error {
	var heard *redis.PubSub
	if w.Until.Channel != "" {
		heard = c.PSubscribe(ctx, w.Until.Channel)
		defer heard.Close()
		if _, err := heard.Receive(ctx); err != nil {
			return err
		}
	}
	keys, args := append([]string{w.Key}, w.Keys...), append([]any{w.Me, 3600000}, w.Args...)
	for first := true; ; first = false {
		n, err := redis.NewScript(w.Try).Run(ctx, c, keys, args...).Int()
		if err != nil || n == 1 {
			return err
		}
		if first {
			close(refused)
		}
		if err := w.Until.await(ctx, c, heard, called); err != nil {
			return err
		}
	}
}

func (u until) await(ctx context.Context, c *redis.Client, heard *redis.PubSub, called <-chan struct{}) error {
	switch {
	case u.To != "":
		return c.BLMove(ctx, u.List, u.To, "RIGHT", "LEFT", time.Minute).Err()
	case u.List != "":
		popped, err := c.BLPop(ctx, time.Minute, u.List).Result()
		if err == nil && !slices.Contains(u.Messages, popped[1]) {
			err = fmt.Errorf("got %q from %s", popped[1], u.List)
		}
		return err
	case heard != nil:
		for {
			m, err := heard.ReceiveMessage(ctx)
			if err != nil {
				return fmt.Errorf("no message: %w", err)
			}
			if slices.Contains(u.Messages, m.Payload) {
				return nil
			}
		}
	}
	var again <-chan struct{} = called
	var tick <-chan time.Time
	if u.Poll {
		again, tick = nil, time.After(5*time.Millisecond)
	}
	select {
	case <-again:
	case <-tick:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
