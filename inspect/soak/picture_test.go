package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// picture maps each lock in use, BACKEND:PATH, to "holder holder | waiter waiter".
type picture map[string]string

// add adds a lock, unless it is free.
func (p picture) add(lock string, holders, waiters []string) {
	if len(holders)+len(waiters) > 0 {
		p[lock] = strings.Join(slices.Sorted(slices.Values(holders)), " ") + " | " + strings.Join(waiters, " ")
	}
}

// pictured returns the picture of a snapshot.
func pictured(s *inspect.Snapshot) picture {
	p := picture{}
	name := func(c inspect.Contender) string { return c.Name.String() }
	for l := range s.Locks() {
		p.add(l.ID.String(), each.Of(l.Holders, name), each.Of(l.Waiters, name))
	}
	return p
}

// listed returns the picture that ls shows.
func listed(t *testing.T, program string, targets []string) picture {
	t.Helper()
	cmd := exec.Command(program, append([]string{"ls", "-o", "json"}, targets...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	out, err := cmd.Output()
	must.Be(t, err, nil, "ls")
	type contender struct{ Name string }
	var list struct {
		Locks []struct {
			ID               string
			Holders, Waiters []contender
		}
	}
	must.Be(t, json.Unmarshal(out, &list), nil, "ls")
	p := picture{}
	name := func(c contender) string { return c.Name }
	for _, l := range list.Locks {
		p.add(l.ID, each.Of(l.Holders, name), each.Of(l.Waiters, name))
	}
	return p
}

// picture reads the ZooKeeper queues and the values of the Redis keys with plain clients.
func (w *world) picture(ctx context.Context) (picture, error) {
	p := picture{}
	if err := w.queues(p); err != nil {
		return nil, err
	}
	five := map[string]map[string]int{} // votes by key and value
	for _, m := range w.masters {
		values, err := lockKeys(ctx, redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2}))
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			if five[key] == nil {
				five[key] = map[string]int{}
			}
			five[key][value]++
		}
	}
	for key, votes := range five {
		for value, n := range votes {
			if n > len(w.masters)/2 {
				p[redlockName+":"+key] = value + " | "
			}
		}
	}
	for backend, servers := range map[string][]*servertest.Redis{sentinelName: w.watched, clusterName: w.cluster} {
		for _, r := range servers {
			if err := keysOfMaster(ctx, p, backend, r.Addr); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (w *world) queues(p picture) error {
	c, events, err := zk.Connect(zkAddrs(w.zk), 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer func() {
		c.Close()
		for range events {
		}
	}()
	if _, err := c.Sync("/soak"); err != nil {
		return err
	}
	locks, _, err := c.Children("/soak")
	if err != nil {
		return err
	}
	for _, lock := range locks {
		queue, _, err := c.Children("/soak/" + lock)
		if err != nil {
			return err
		}
		number := func(name string) string { return name[max(0, len(name)-10):] }
		slices.SortFunc(queue, func(a, b string) int { return strings.Compare(number(a), number(b)) })
		holders := min(1, len(queue))
		for holders < len(queue) && isRead(queue[0]) && isRead(queue[holders]) {
			holders++
		}
		p.add(zkName+":/soak/"+lock, queue[:holders], queue[holders:])
	}
	return nil
}

func isRead(name string) bool { return strings.Contains(name, "__READ__") }

// keysOfMaster adds a server's locks if it is a master.
func keysOfMaster(ctx context.Context, p picture, backend, addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	role, err := c.Do(ctx, "ROLE").Slice()
	if err != nil {
		c.Close()
		return err
	}
	if role[0] != "master" {
		return c.Close()
	}
	values, err := lockKeys(ctx, c)
	for key, value := range values {
		p[backend+":"+key] = value + " | "
	}
	return err
}

// lockKeys returns the strings under a server's lock keys, and closes the client.
func lockKeys(ctx context.Context, c *redis.Client) (map[string]string, error) {
	defer c.Close()
	keys, err := c.Keys(ctx, "lock:*").Result()
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, key := range keys {
		v, err := c.Get(ctx, key).Result()
		if errors.Is(err, redis.Nil) || err != nil && strings.HasPrefix(err.Error(), "MOVED") {
			continue
		}
		if err != nil {
			return nil, err
		}
		values[key] = v
	}
	return values, nil
}

// same waits until an observer's picture matches the servers', or fails the test.
func (w *world) same(t *testing.T, look func() *inspect.Snapshot) picture {
	t.Helper()
	var seen, held picture
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if held, err = w.picture(t.Context()); err != nil {
			continue
		}
		if seen = pictured(look()); len(differences(seen, held)) == 0 {
			return held
		}
	}
	t.Errorf("the picture differs from the servers' (%v):\n%s", err, strings.Join(differences(seen, held), "\n"))
	return held
}

// differences lists the differences between the view and the servers, one line per lock.
func differences(seen, held picture) (lines []string) {
	all := picture{}
	maps.Copy(all, seen)
	maps.Copy(all, held)
	for _, lock := range slices.Sorted(maps.Keys(all)) {
		if seen[lock] != held[lock] {
			lines = append(lines, fmt.Sprintf("  %s: shown %q, held %q", lock, seen[lock], held[lock]))
		}
	}
	return lines
}

// pose leaves a holder on every lock, and waiters where the servers know them. The returned function
// ends them.
func pose(t *testing.T, c *clients) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var posing sync.WaitGroup
	held := map[string]bool{}
	for _, one := range c.own {
		if held[one.lock] && backendOf(one.lock) != zkName {
			continue
		}
		held[one.lock] = true
		there := make(chan struct{}, 10)
		locker, closeSession, err := one.openUntil(ctx, func(string) { there <- struct{}{} })
		must.Succeed(t, err)
		posing.Go(func() {
			defer closeSession()
			h, err := locker.Acquire(ctx)
			if err == nil {
				there <- struct{}{}
				<-ctx.Done()
				err = h.Release(context.Background())
			}
			must.True(t, err == nil || errors.Is(err, context.Canceled), one.lock, err)
		})
		select {
		case <-there:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no holder or waiter", one.lock)
		}
	}
	return func() {
		cancel()
		posing.Wait()
	}
}

func (p picture) String() string {
	var text strings.Builder
	for _, lock := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "\n  %s: %s", lock, p[lock])
	}
	return text.String()
}
