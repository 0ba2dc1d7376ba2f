package lockops_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// foreign has replies that our scripts never send, each with its form in error texts.
var foreign = map[string]string{
	":7\r\n": `"7"`, "$0\r\n\r\n": `""`, "+OK\r\n": `"OK"`, "$-1\r\n": `""`, "+\x1b[2J\r\n": `"\x1b[2J"`,
	"$60\r\n" + strings.Repeat("x", 60) + "\r\n": `"` + strings.Repeat("x", 40) + `"`,
}

// An unexpected reply proves neither a renewal nor a release. The renewal fails, and the release is
// retried.
func TestUnexpectedReplyIsNotASuccess(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		for _, kind := range redisKinds {
			name, p, key := kind.Name, startCutter(t, masters[0].Addr), servertest.UniqueName(t)
			addrs := append([]string{p.addr}, addrsOf(mastersOf(kind, masters)[1:])...)
			m := must.Have(kind.New(redisSessionAt(t, addrs), key, lockops.WithTTL(time.Hour)))(t)
			for reply, shown := range foreign {
				h := acquire(t, m)
				if until, _ := h.Deadline(); name != "redlock" { // a Redlock retries
					p.armed.Store(&forgery{reply: reply})
					err := h.Extend(within(t))
					must.True(t, contains(err, p.addr+": it answered "+shown+","), name, reply, "Extend", err)
					must.Be(t, context.Cause(h.Context()), nil, name, reply, "hold")
					after, _ := h.Deadline()
					must.Equal(t, after, until, name, reply, "deadline")
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
			m := lockops.NewRedisMutex(redisSessionAt(t, []string{p.addr}), key, lockops.WithTTL(time.Hour))
			release(t, acquire(t, m)) // loads the scripts
			p.armed.Store(&forgery{reply: reply, runs: true, again: true})
			ctx, cancel := context.WithCancel(within(t))
			got := begin(ctx, m)
			must.Become(t, "the key is set", func() bool { return get(t, c, key) != "" })
			cancel()
			must.True(t, (<-got).err != nil, reply, "Acquire succeeded")
			must.Become(t, "the key is removed", func() bool { return get(t, c, key) == "" })
		}
	})
}
