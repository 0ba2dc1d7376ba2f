package redissource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
)

const (
	// shown is how many bytes of a value are kept. One more is asked for, to see that there are more.
	shown = 1 << 10
	// hashed is the longest value whose digest is computed; chunk is how much of it is read at once.
	hashed = 8 << 20
	chunk  = 1 << 20
	// rehash is after how long a long value is read in full again although its beginning and its length are the same.
	rehash = 10 * time.Second
)

// answer is a key's reply before the questions that some replies raise are settled.
type answer struct {
	vote inspect.Vote
	// A wrong type has to be named, an empty string told from no key, a long value digested.
	wrongType, empty, long bool
}

// readVotes reads keys with one pipeline, and a second one where replies raise questions. An error means that the
// master as a whole could not be asked.
func (m *master) readVotes(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	if len(keys) == 0 { // still a sign of life
		return nil, m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error { return c.Ping(ctx).Err() })
	}
	ttls := make([]*redis.DurationCmd, len(keys))
	values := make([]*redis.StringCmd, len(keys))
	start := time.Now()
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				ttls[i] = p.PTTL(ctx, key)
				values[i] = p.GetRange(ctx, key, 0, shown)
			}
			return nil
		})
		return pipelineError(err, cmds)
	})
	if err != nil {
		return nil, err
	}
	middle := start.Add(time.Since(start) / 2).Round(0)
	answers := make([]answer, len(keys))
	for i := range keys {
		answers[i] = m.answer(ttls[i], values[i], middle)
	}
	if err := m.settle(ctx, keys, answers); err != nil {
		return nil, err
	}
	votes := make([]inspect.Vote, len(keys))
	for i := range answers {
		votes[i] = answers[i].vote
	}
	return votes, nil
}

// pipelineError is the error that speaks of the master rather than of one key: a broken connection, a refused login.
func pipelineError(err error, cmds []redis.Cmder) error {
	if err == nil {
		return nil
	}
	for _, cmd := range cmds {
		if e := cmd.Err(); e != nil && !isWrongType(e) && !isDenied(e) && e != redis.Nil {
			return e
		}
	}
	if !isReply(err) {
		return err
	}
	return nil
}

// answer makes a vote of the replies to PTTL and GETRANGE; middle is the middle of their round trip.
func (m *master) answer(ttl *redis.DurationCmd, value *redis.StringCmd, middle time.Time) answer {
	a := answer{vote: inspect.Vote{Addr: m.addr, Up: true}}
	if err := firstError(ttl.Err(), value.Err()); err != nil && !isWrongType(err) {
		a.vote.Up, a.vote.Error = false, inspect.Escape(err.Error())
		return a
	}
	switch left := ttl.Val(); {
	case left == -2: // no such key
		return a
	case left == -1:
		a.vote.NoExpiry = true
	default:
		a.vote.ExpiresAt = middle.Add(left)
	}
	a.vote.Present = true
	text := value.Val()
	switch {
	case value.Err() != nil:
		a.wrongType, a.vote.Foreign = true, true
	case text == "":
		a.empty = true
	case len(text) > shown:
		a.long = true
		text = text[:shown]
	}
	a.vote.Value = inspect.Untrusted(text)
	return a
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// settle asks the questions that some replies raise, in one pipeline: TYPE of what is no string, EXISTS of what is
// empty, STRLEN of what is long.
func (m *master) settle(ctx context.Context, keys []string, answers []answer) error {
	replies := make([]redis.Cmder, len(keys))
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		for i, a := range answers {
			switch {
			case a.wrongType:
				replies[i] = p.Type(ctx, keys[i])
			case a.empty:
				replies[i] = p.Exists(ctx, keys[i])
			case a.long:
				replies[i] = p.StrLen(ctx, keys[i])
			}
		}
		if p.Len() == 0 {
			return nil
		}
		cmds, err := p.Exec(ctx)
		return pipelineError(err, cmds)
	})
	if err != nil {
		return err
	}
	for i := range answers {
		v := &answers[i].vote
		switch reply := replies[i].(type) {
		case *redis.StatusCmd: // TYPE
			v.Value = inspect.Untrusted(reply.Val())
		case *redis.IntCmd: // EXISTS, STRLEN
			if answers[i].long {
				if v.Digest, err = m.digest(ctx, keys[i], v, reply.Val()); err != nil {
					return err
				}
			} else if reply.Err() == nil && reply.Val() == 0 {
				*v = inspect.Vote{Addr: m.addr, Up: true}
			}
		}
	}
	return nil
}

// digests remembers what long values hashed to, so that they are not read in full at every tick.
type digests struct {
	mu    sync.Mutex
	known map[string]digested
}

type digested struct {
	start   inspect.Untrusted
	length  int64
	expires time.Time
	at      time.Time
	digest  string
}

// digest is sha256:HEX of a whole long value; empty when it is longer than 8 MiB.
func (m *master) digest(ctx context.Context, key string, v *inspect.Vote, length int64) (string, error) {
	m.digests.mu.Lock()
	d, ok := m.digests.known[key]
	m.digests.mu.Unlock()
	renewed := v.ExpiresAt.Sub(d.expires) > jitter
	if ok && d.start == v.Value && d.length == length && !renewed && time.Since(d.at) < rehash {
		return d.digest, nil
	}
	d = digested{start: v.Value, length: length, expires: v.ExpiresAt, at: time.Now()}
	if length <= hashed {
		hash := sha256.New()
		for from := int64(0); from < length; from += chunk {
			err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
				part, err := c.GetRange(ctx, key, from, from+chunk-1).Result()
				io.WriteString(hash, part)
				return err
			})
			if err != nil {
				return "", err
			}
		}
		d.digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	}
	m.digests.mu.Lock()
	defer m.digests.mu.Unlock()
	if m.digests.known == nil || len(m.digests.known) > 10_000 {
		m.digests.known = map[string]digested{}
	}
	m.digests.known[key] = d
	return d.digest, nil
}

// downVote is what is said of every key on a master that does not answer.
func downVote(addr string, err error) inspect.Vote {
	return inspect.Vote{Addr: addr, Error: inspect.Escape(err.Error())}
}
