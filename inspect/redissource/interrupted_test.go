package redissource_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
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
						lockLies(t, about, was, now)
					}
				}
			}
		}
	}
}
