package redissource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
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

// readVotes reads keys with one pipeline, and others where replies raise questions. An error means that the master as
// a whole could not be asked.
func (m *master) readVotes(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	if len(keys) == 0 { // still a sign of life
		return nil, m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error { return c.Ping(ctx).Err() })
	}
	votes, odd, err := m.readOnce(ctx, keys)
	if err != nil {
		return nil, err
	}
	if len(odd) > 0 { // once more, as what they turned out to be
		again, _, err := m.readOnce(ctx, odd)
		if err != nil {
			return nil, err
		}
		replace(votes, keys, again, odd)
	}
	return votes, m.confirm(ctx, keys, votes)
}

// replace puts the newer votes of some keys into those of all.
func replace(votes []inspect.Vote, keys []string, again []inspect.Vote, some []string) {
	newer := make(map[string]inspect.Vote, len(some))
	for i, key := range some {
		newer[key] = again[i]
	}
	for i, key := range keys {
		if v, ok := newer[key]; ok {
			votes[i] = v
		}
	}
}

// confirm looks again at what looks dead, where this is the only look that there will be.
func (m *master) confirm(ctx context.Context, keys []string, votes []inspect.Vote) error {
	var doubtful []string
	for i, v := range votes {
		if m.typed.patient && v.Held != nil && v.Held.Doubtful {
			doubtful = append(doubtful, keys[i])
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	if err := sleep(ctx, deadAfter); err != nil {
		return err
	}
	again, _, err := m.readOnce(ctx, doubtful)
	if err == nil {
		replace(votes, keys, again, doubtful)
	}
	return err
}

// readOnce reads keys by the types that they are believed to have; odd are those that have another.
func (m *master) readOnce(ctx context.Context, keys []string) (votes []inspect.Vote, odd []string, err error) {
	readings := m.newReadings(keys)
	if err := m.beside(ctx, readings, true); err != nil {
		return nil, nil, err
	}
	for _, r := range readings {
		r.answer = m.answer(r)
	}
	if err := m.settle(ctx, readings); err != nil {
		return nil, nil, err
	}
	if odd, err = m.learn(ctx, readings); err != nil {
		return nil, nil, err
	}
	if err := m.recognise(ctx, readings); err != nil {
		return nil, nil, err
	}
	votes = make([]inspect.Vote, len(keys))
	for i, r := range readings {
		votes[i] = r.vote
	}
	return votes, odd, nil
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

// answer makes a vote of the replies about the key itself.
func (m *master) answer(r *keyReading) answer {
	a := answer{vote: inspect.Vote{Addr: m.addr, Up: true}}
	ttl, body := r.main.ttl, r.main.body
	if err := firstError(ttl.Err(), body.Err()); err != nil && !isWrongType(err) {
		a.vote.Up, a.vote.Error = false, inspect.Escape(err.Error())
		return a
	}
	r.keys.Main = recipe.Value{Type: recipe.TypeNone}
	switch left := ttl.Val(); {
	case left == -2: // no such key
		return a
	case left == -1:
		a.vote.NoExpiry = true
	default:
		a.vote.ExpiresAt = r.keys.Now.Add(left)
	}
	a.vote.Present = true
	if body.Err() != nil {
		a.wrongType, a.vote.Foreign = true, true
		return a
	}
	r.keys.Main = r.main.value(r.keys.Now)
	if text, ok := body.(*redis.StringCmd); ok {
		a.vote.Value = inspect.Untrusted(r.keys.Main.Text)
		a.empty, a.long = text.Val() == "", len(text.Val()) > shown
	}
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
func (m *master) settle(ctx context.Context, readings []*keyReading) error {
	if !slices.ContainsFunc(readings, func(r *keyReading) bool { return r.wrongType || r.empty || r.long }) {
		return nil
	}
	replies := make([]redis.Cmder, len(readings))
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		for i, r := range readings {
			switch {
			case r.wrongType:
				replies[i] = p.Type(ctx, r.keys.Key)
			case r.empty:
				replies[i] = p.Exists(ctx, r.keys.Key)
			case r.long:
				replies[i] = p.StrLen(ctx, r.keys.Key)
			}
		}
		cmds, err := p.Exec(ctx)
		return pipelineError(err, cmds)
	})
	if err != nil {
		return err
	}
	for i, r := range readings {
		switch reply := replies[i].(type) {
		case *redis.StatusCmd: // TYPE
			r.vote.Value = inspect.Untrusted(reply.Val())
		case *redis.IntCmd: // EXISTS, STRLEN
			if r.long {
				if r.vote.Digest, err = m.digest(ctx, r.keys.Key, &r.vote, reply.Val()); err != nil {
					return err
				}
			} else if reply.Err() == nil && reply.Val() == 0 {
				r.vote = inspect.Vote{Addr: m.addr, Up: true}
				r.keys.Main = recipe.Value{Type: recipe.TypeNone}
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
