package redissource

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// rounds is how many times what was read may raise new questions.
const rounds = 3

// learn asks how large keys of a type that is not the expected one are, and says which are worth reading as what they
// are. A hash, set or sorted set that is too large for a lock is read no further.
func (m *master) learn(ctx context.Context, readings []*keyReading) ([]string, error) {
	var odd []*keyReading
	for _, r := range readings {
		if r.wrongType && slices.Contains(lockTypes(), recipe.KeyType(r.vote.Value)) {
			odd = append(odd, r)
		}
	}
	if len(odd) == 0 {
		return nil, nil
	}
	sizes, memory := make([]*redis.IntCmd, len(odd)), make([]*redis.IntCmd, len(odd))
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, r := range odd {
				sizes[i], memory[i] = m.askSize(ctx, p, r)
			}
			return nil
		})
		return pipelineError(err, slices.DeleteFunc(cmds, func(cmd redis.Cmder) bool {
			usage, ok := cmd.(*redis.IntCmd)
			return ok && slices.Contains(memory, usage) // not every server tells; the number of items bounds it then
		}))
	})
	if err != nil {
		return nil, err
	}
	var worth []string
	for i, r := range odd {
		if err := sizes[i].Err(); isDenied(err) { // it may be a lock
			r.vote = inspect.Vote{Addr: m.addr, Error: inspect.Escape(err.Error())}
		}
		if sizes[i].Err() == nil && sizes[i].Val() <= maxSize && memory[i].Val() <= maxBytes {
			m.typed.remember(r.keys.Key, shape{kind: recipe.KeyType(r.vote.Value), hint: r.shape.hint})
			worth = append(worth, r.keys.Key)
		}
	}
	return worth, nil
}

func lockTypes() []recipe.KeyType {
	return []recipe.KeyType{recipe.TypeString, recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet}
}

func (m *master) askSize(ctx context.Context, p redis.Pipeliner, r *keyReading) (size, memory *redis.IntCmd) {
	key := r.keys.Key
	switch recipe.KeyType(r.vote.Value) {
	case recipe.TypeHash:
		size = p.HLen(ctx, key)
	case recipe.TypeZSet:
		size = p.ZCard(ctx, key)
	case recipe.TypeSet:
		size = p.SCard(ctx, key)
	default:
		size = p.Exists(ctx, key)
		return size, redis.NewIntCmd(ctx)
	}
	return size, p.MemoryUsage(ctx, key, maxSize)
}

// recognise reads what recipes ask for beside the keys, and makes votes of what they know.
func (m *master) recognise(ctx context.Context, readings []*keyReading) error {
	for range rounds {
		var asking []*keyReading
		for _, r := range readings {
			if !r.vote.Up || r.wrongType {
				continue
			}
			r.wanted, r.missing = recipe.Asks(r.keys), nil
			for _, ask := range r.wanted {
				if _, ok := r.keys.Beside[ask.Key]; !ok {
					r.missing = append(r.missing, ask)
				}
			}
			if len(r.missing) > 0 {
				asking = append(asking, r)
			}
		}
		if len(asking) == 0 {
			break
		}
		if err := m.skipLarge(ctx, asking); err != nil {
			return err
		}
		if err := m.beside(ctx, asking, false); err != nil {
			return err
		}
	}
	for _, r := range readings {
		m.decode(r)
	}
	return nil
}

// skipLarge asks how large collections are that were never read, and leaves out those that are too large to be a lock's.
func (m *master) skipLarge(ctx context.Context, readings []*keyReading) error {
	sizes := map[string]*redis.IntCmd{}
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		for _, r := range readings {
			for _, ask := range r.missing {
				if ask.Type != recipe.TypeChannel && ask.Type != recipe.TypeString && sizes[ask.Key] == nil {
					sizes[ask.Key] = p.MemoryUsage(ctx, ask.Key, maxSize)
				}
			}
		}
		if p.Len() == 0 {
			return nil
		}
		_, err := p.Exec(ctx)
		return onlyBroken(err) // not every server tells
	})
	if err != nil {
		return err
	}
	for _, r := range readings {
		r.missing = slices.DeleteFunc(r.missing, func(ask recipe.Ask) bool {
			size := sizes[ask.Key]
			if size == nil || size.Val() <= maxBytes {
				return false
			}
			r.put(ask.Key, recipe.Value{Type: recipe.TypeNone, Unknown: true})
			r.large = append(r.large, ask)
			return true
		})
	}
	return nil
}

// decode makes the vote of a key of what was read, and remembers how to read it the next time.
func (m *master) decode(r *keyReading) {
	if !r.vote.Up || r.wrongType {
		return
	}
	record, ok := recipe.DecodeKeys(r.keys)
	r.wanted = slices.DeleteFunc(r.wanted, func(ask recipe.Ask) bool { return slices.Contains(r.large, ask) })
	m.typed.note(r, r.vote.Present || ok)
	kind := r.shape.kind
	if !ok {
		if kind != recipe.TypeString && r.vote.Present {
			r.vote.Foreign, r.vote.Value = true, inspect.Untrusted(kind)
		}
		if len(r.wanted) == 0 || !r.vote.Present {
			kind = recipe.TypeString // not what it was
		}
		m.typed.remember(r.keys.Key, shape{kind: kind, asks: r.wanted})
		return
	}
	held := new(record) // few are
	m.typed.remember(r.keys.Key, shape{kind: kind, hint: held.Recipe, asks: r.wanted})
	m.typed.doubt(r.keys.Key, held, time.Now())
	r.vote.Held = held
	var names []string
	for _, c := range held.Claims {
		if !c.Waiting {
			names = append(names, c.Name)
		}
	}
	if kind != recipe.TypeString || !r.vote.Present {
		r.vote.Value = inspect.Untrusted(cut(strings.Join(names, " ")))
	}
	if !r.vote.Present && len(names) > 0 { // by keys beside the first
		r.vote.Present, held.Beside = true, true
		for _, c := range held.Claims {
			if !c.Waiting && c.ExpiresAt.After(r.vote.ExpiresAt) {
				r.vote.ExpiresAt = c.ExpiresAt
			}
		}
		r.vote.NoExpiry = r.vote.ExpiresAt.IsZero()
	}
}
