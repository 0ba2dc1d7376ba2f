package redissource_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/redisreply"
	"github.com/lockscope/lockscope/internal/servertest"
)

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// interrupted replaces some replies of a read with an error.
type interrupted struct {
	servertest.Hook
	by   reply
	from int // the first, counted from 1
	most int // how many
	seen int
}

func (i *interrupted) cmd(c redis.Cmder) {
	if i.seen++; i.seen >= i.from && i.seen < i.from+i.most {
		c.SetErr(i.by)
	}
}

func (i *interrupted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if err := next(ctx, c); err != nil {
			return err
		}
		i.cmd(c)
		return c.Err()
	}
}

func (i *interrupted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := next(ctx, cmds); err != nil && !redisreply.Is(err) {
			return err
		}
		for _, c := range cmds {
			i.cmd(c)
		}
		if at := slices.IndexFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }); at >= 0 {
			return cmds[at].Err()
		}
		return nil
	}
}

// While a slot moves, or a node loads its data, it may refuse one command of a read, or all from
// then on. Only the facts that depend on refused commands become unknown.
func TestTemporaryClusterRefusalsAreUnknown(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	for l := range diagnosed(t, writeAll(t, server)).Locks() {
		read := func(fault *interrupted) (*inspect.Lock, error) {
			keys := server.Client(t)
			keys.AddHook(fault)
			options := redis.UniversalOptions{Addrs: []string{server.Addr}}
			m := node.New(server.Addr, options, node.Settings{Timeout: 30 * time.Second, Now: time.Now, Named: l.ID.Path})
			defer m.Close()
			m.Join(keys, []*node.Master{m})
			votes, err := m.Votes(t.Context(), []string{l.ID.Path})
			return inspect.KeyLock(l.ID, votes, time.Now()), err
		}
		whole := &interrupted{}
		was := must.Have(read(whole))(t)
		for _, by := range []reply{
			"TRYAGAIN Multiple keys request during rehashing of slot",
			"CLUSTERDOWN Hash slot not served",
			"LOADING Redis is loading the dataset in memory",
		} {
			for from := 1; from <= whole.seen; from++ {
				for _, most := range []int{1, 1000} {
					now, err := read(&interrupted{by: by, from: from, most: most})
					if err == nil { // otherwise nothing is known
						about := fmt.Sprintf("%s on %d commands from %d of %d", by, most, from, whole.seen)
						contradictions(t, about, was, now)
					}
				}
			}
		}
	}
}

// before is called before each round trip of a read.
type before struct {
	servertest.Hook
	do func()
}

func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error { b.do(); return next(ctx, c) }
}

func (b before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { b.do(); return next(ctx, cmds) }
}

// While a lock is read, a lock of another type replaces it, once or at each round trip. The key is
// never free or foreign, and its holder is one of the two.
func TestTypeChangeNeverLooksFree(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	admin := server.Client(t)
	const key, text, member = "lock:a", "MDEyMzQ1Njc4OWFiY2RlZg==", "MDEyMzQ1Njc4OWFiY2RlZvCfgqEgp5yRhf/+gIHH2JM="
	soon := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	locks := [][]any{
		{"set", key, text},
		{"hset", key, uuidA + ":57", 1},
		{"zadd", key, soon, "__write__", soon, member},
	}
	write := func(n int) {
		_, err := admin.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Del(t.Context(), key)
			p.Do(t.Context(), locks[n]...)
			p.PExpire(t.Context(), key, time.Hour)
			return nil
		})
		must.Succeed(t, err)
	}
	read := func(do func()) *inspect.Lock {
		c := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
		defer c.Close()
		c.AddHook(before{do: do})
		vote := must.Have(node.ReadKey(t.Context(), time.Now, c, server.Addr, key, 30*time.Second))(t)
		return inspect.KeyLock(inspect.ID{Backend: "redis", Path: key}, []inspect.Vote{vote}, time.Now())
	}
	alone := make([]*inspect.Lock, len(locks))
	for n := range locks {
		write(n)
		if alone[n] = read(func() {}); alone[n].State != inspect.StateHeld {
			t.Fatalf("%v: %+v", locks[n], alone[n])
		}
	}
	for from := range locks {
		for to := range locks {
			if from == to {
				continue
			}
			for trip := 1; trip <= 8; trip++ {
				for _, again := range []bool{false, true} {
					write(from)
					trips, now := 0, from
					l := read(func() {
						if trips++; trips == trip || again && trips > trip {
							now = from + to - now
							write(now)
						}
					})
					what := fmt.Sprintf("%v to %v at round trip %d, again %v", locks[from][0], locks[to][0], trip, again)
					if l.State != inspect.StateHeld && l.State != inspect.StateUnknown || l.Masters[0].Foreign {
						t.Errorf("%s: %s, %+v", what, l.State, l.Masters[0])
					}
					for _, h := range l.Holders {
						_, before := alone[from].Contender(h.Name)
						_, after := alone[to].Contender(h.Name)
						must.True(t, before || after, what, "held by", h.Name)
					}
				}
			}
		}
	}
}

// cutting starts a proxy that closes each connection after that many bytes of replies.
func cutting(t *testing.T, m *servertest.Redis, bytes int) *servertest.Redis {
	t.Helper()
	var mu sync.Mutex
	sent := map[io.Writer]int{} // bytes, by connection
	addr := servertest.StartRelay(t, m.Addr, func(_ int, said []byte, client io.Writer) error {
		mu.Lock()
		defer mu.Unlock()
		said = said[:min(len(said), bytes-sent[client])]
		if sent[client] += len(said); sent[client] == bytes {
			client.Write(said)
			return io.EOF
		}
		_, err := client.Write(said)
		return err
	})
	return &servertest.Redis{Addr: addr, Real: true}
}

func TestTruncatedReplyInventsNothing(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	writeAll(t, m)
	look := func(m *servertest.Redis, timeout time.Duration) *inspect.Snapshot {
		cfg := config(m)
		cfg.Match, cfg.Timeout, cfg.Budget = nil, timeout, redissource.Budget{Unlimited: true}
		return diagnosed(t, cfg)
	}
	all := look(m, 30*time.Second)
	var g errgroup.Group
	g.SetLimit(8)
	cuts := make([]*inspect.Snapshot, 60)
	after := func(i int) int { return 100 + i*i*8 }
	for i := range cuts {
		proxy := cutting(t, m, after(i))
		g.Go(func() error {
			cuts[i] = look(proxy, time.Second)
			return nil
		})
	}
	must.Succeed(t, g.Wait())
	partial := 0
	for i, s := range cuts {
		about := fmt.Sprintf("after %d bytes", after(i))
		if s.Backends[0].State == inspect.Connected {
			wantNoContradiction(t, about, all, s, nil)
			continue
		}
		partial++
		for l := range s.Locks() {
			if l.State == inspect.StateUnknown {
				continue
			}
			if was := all.Lock(l.ID); was != nil {
				contradictions(t, about, was, l)
			} else {
				t.Errorf("%s: %s appeared as %s", about, l.ID, l.State)
			}
		}
	}
	if partial < 10 || partial == len(cuts) {
		t.Errorf("%d of %d reads were cut, want at least 10 but not all", partial, len(cuts))
	}
}
