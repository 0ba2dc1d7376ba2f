package lockops_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// foreign has replies that our scripts never send, each with its form in error texts.
var foreign = map[string]string{
	":7\r\n": `"7"`, "$0\r\n\r\n": `""`, "+OK\r\n": `"OK"`, "$-1\r\n": `""`, "+\x1b[2J\r\n": `"\x1b[2J"`,
	"$60\r\n" + strings.Repeat("x", 60) + "\r\n": `"` + strings.Repeat("x", 40) + `"`,
}

// behind returns a session with one master behind a cutter, and others that are reached directly.
func behind(t *testing.T, p *cutter, others ...*servertest.Redis) *lockops.RedisSession {
	t.Helper()
	masters := []*redis.UniversalOptions{{Addrs: []string{p.listener.Addr().String()}}}
	for _, m := range others {
		masters = append(masters, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	s := must.Have(lockops.NewRedisSession(within(t), masters))(t)
	t.Cleanup(s.Close)
	return s
}

// An unexpected reply proves neither a renewal nor a release. The renewal fails, and the release is
// retried.
func TestUnexpectedReplyIsNotASuccess(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		for name, lock := range map[string]func(p *cutter, key string) lockops.Locker{
			"mutex": func(p *cutter, key string) lockops.Locker {
				return lockops.NewRedisMutex(behind(t, p), key, lockops.WithTTL(time.Hour))
			},
			"fair": func(p *cutter, key string) lockops.Locker {
				return lockops.NewRedisFairMutex(behind(t, p), key, lockops.WithTTL(time.Hour))
			},
			"redlock": func(p *cutter, key string) lockops.Locker {
				return lockops.NewRedlock(behind(t, p, masters[1:]...), key, lockops.WithTTL(time.Hour))
			},
		} {
			p, key := startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			m := lock(p, key)
			for reply, shown := range foreign {
				h := acquire(t, m)
				if until, _ := h.Deadline(); name != "redlock" { // a Redlock retries
					p.armed.Store(&forgery{reply: reply})
					err := h.Extend(within(t))
					if err == nil || !strings.Contains(err.Error(), p.listener.Addr().String()+": it answered "+shown+",") || h.Context().Err() != nil {
						t.Errorf("%s, %q: Extend: %v; hold: %v", name, reply, err, context.Cause(h.Context()))
					}
					if after, _ := h.Deadline(); !after.Equal(until) {
						t.Errorf("%s, %q: the deadline moved from %v to %v", name, reply, until, after)
					}
				}
				p.armed.Store(&forgery{reply: reply})
				if err := h.Release(within(t)); err != nil && name != "redlock" { // a Redlock retries only in the background
					t.Errorf("%s, %q: release: %v", name, reply, err)
				}
				must.Become(t, "the key is gone", func() bool { return get(t, c, key) == "" })
			}
		}
	})
}

// An unexpected reply does not prove that the lock was refused either, so a possible key is
// removed.
func TestUnexpectedReplyIsNotARefusal(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		for reply := range foreign {
			p, key := startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			m := lockops.NewRedisMutex(behind(t, p), key, lockops.WithTTL(time.Hour))
			release(t, acquire(t, m)) // loads the scripts
			p.armed.Store(&forgery{reply: reply, runs: true, again: true})
			ctx, cancel := context.WithCancel(within(t))
			ended := make(chan error)
			go func() {
				_, err := m.Acquire(ctx)
				ended <- err
			}()
			must.Become(t, "the key is set", func() bool { return get(t, c, key) != "" })
			cancel()
			if err := <-ended; err == nil {
				t.Errorf("%q: Acquire succeeded", reply)
			}
			must.Become(t, "the key is removed", func() bool { return get(t, c, key) == "" })
		}
	})
}
