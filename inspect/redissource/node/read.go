package node

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
)

const (
	// shown limits the bytes kept of a value. One more is requested, to detect longer values.
	shown = 1 << 10
	// digested limits the size of values that get a digest, in bytes.
	digested = 64 << 10
	// maxReadings limits the reads of a key that keeps changing.
	maxReadings = 4
)

// Votes reads keys with one pipeline, and more where replies are unclear. An error means that the
// master itself could not be asked.
func (m *Master) Votes(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	if len(keys) == 0 { // still a sign of life
		return nil, m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
			return onlyBroken(c.Ping(ctx).Err())
		})
	}
	votes, err := m.readTyped(ctx, keys)
	if err != nil {
		return nil, err
	}
	return votes, m.confirm(ctx, keys, votes)
}

// readTyped reads keys. It rereads those of an unexpected type and those that changed meanwhile.
func (m *Master) readTyped(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	votes, odd, err := m.readOnce(ctx, keys, false)
	for n := 1; err == nil && len(odd) > 0 && n < maxReadings; n++ {
		some := odd
		var again []inspect.Vote
		if again, odd, err = m.readOnce(ctx, some, true); err == nil {
			replace(votes, keys, again, some)
		}
	}
	for i, key := range keys {
		if err == nil && slices.Contains(odd, key) {
			votes[i] = m.unsteady()
		}
	}
	return votes, err
}

// unsteady is the vote for a key that changed with every read: it may be held.
func (m *Master) unsteady() inspect.Vote {
	v := inspect.Vote{Addr: m.Address(), Error: "the key changed every time it was read"}
	for _, a := range []inspect.Aspect{
		inspect.AspectKind, inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectVotes,
	} {
		v.Unseen = append(v.Unseen, inspect.Unseen{Aspect: a, Where: v.Addr, Read: "TYPE", Reason: v.Error})
	}
	return v
}

// replace overwrites the votes of some keys with newer ones.
func replace(votes []inspect.Vote, keys []string, again []inspect.Vote, some []string) {
	for i, key := range some {
		votes[slices.Index(keys, key)] = again[i]
	}
}

// confirm rereads entries that look dead, since there will be no later read.
func (m *Master) confirm(ctx context.Context, keys []string, votes []inspect.Vote) error {
	var doubtful []string
	for i, v := range votes {
		if m.typed.patient && v.Held != nil && v.Held.Doubtful {
			doubtful = append(doubtful, keys[i])
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	if err := sourcekit.Sleep(ctx, DeadAfter); err != nil {
		return err
	}
	again, err := m.readTyped(ctx, doubtful)
	if err == nil {
		replace(votes, keys, again, doubtful)
	}
	return err
}

// readOnce reads keys by their presumed types and returns those to be read again. once is set if
// they were read before.
func (m *Master) readOnce(ctx context.Context, keys []string, once bool) ([]inspect.Vote, []string, error) {
	readings := m.newReadings(keys, once)
	if err := m.readAuxiliary(ctx, readings, true); err != nil {
		return nil, nil, err
	}
	for _, r := range readings {
		m.readMain(r)
	}
	if err := m.settle(ctx, readings); err != nil {
		return nil, nil, err
	}
	if err := m.recognise(ctx, readings); err != nil {
		return nil, nil, err
	}
	votes, odd := make([]inspect.Vote, len(keys)), []string(nil)
	for i, r := range readings {
		votes[i] = r.vote
		if r.again {
			odd = append(odd, r.keys.Key)
		}
	}
	return votes, odd, nil
}

// DownVote is the vote for every key on a master that does not answer.
func DownVote(addr string, err error) inspect.Vote {
	return inspect.Vote{Addr: addr, Error: inspect.Escape(err.Error())}
}
