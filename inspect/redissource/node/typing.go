package node

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// lockTypes are the types that locks are made of, in the order in which they are tried.
func lockTypes() []recipe.KeyType {
	return []recipe.KeyType{recipe.TypeString, recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet}
}

// sizes of a key by the command of each type that it may have: those of another type refuse it.
type sizes struct {
	by     map[recipe.KeyType]*redis.IntCmd
	memory *redis.IntCmd
}

// learn asks how large keys are that have, or may have, another type than the one they were read by, and returns those
// that are worth reading as what they are. A collection that is too large for a lock is read no further.
func (m *Master) learn(ctx context.Context, readings []*keyReading, tried map[string][]recipe.KeyType) (odd []string, err error) {
	var unsure []*keyReading
	for _, r := range readings {
		switch {
		case r.there == isAbsent || r.content == noFault || r.content == elsewhere || r.rewritten:
		case r.untyped != nil || slices.Contains(lockTypes(), recipe.KeyType(r.vote.Value)):
			if r.content == otherType || r.untyped != nil {
				unsure = append(unsure, r)
			}
		case r.content == otherType:
			r.vote.Foreign = true
		}
	}
	if len(unsure) == 0 {
		return nil, nil
	}
	asked := make([]sizes, len(unsure))
	err = m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, r := range unsure {
				asked[i] = r.requestSizes(ctx, p)
			}
			return nil
		})
		return m.serverError(err, cmds)
	})
	if err != nil {
		return nil, err
	}
	for i, r := range unsure {
		kind, again := asked[i].decide(r)
		if r.again = again; again {
			tried[r.keys.Key] = append(tried[r.keys.Key], r.shape.kind)
			m.typed.remember(r.keys.Key, shape{kind: kind, hint: r.shape.hint})
			odd = append(odd, r.keys.Key)
		}
	}
	return odd, nil
}

// candidates are the types that the key may have.
func (r *keyReading) candidates() []recipe.KeyType {
	if r.untyped == nil {
		return []recipe.KeyType{recipe.KeyType(r.vote.Value)}
	}
	return slices.DeleteFunc(lockTypes(), func(t recipe.KeyType) bool {
		return slices.Contains(r.tried, t) || r.content == otherType && t == r.shape.kind
	})
}

func (r *keyReading) requestSizes(ctx context.Context, p redis.Pipeliner) sizes {
	key, s := r.keys.Key, sizes{by: map[recipe.KeyType]*redis.IntCmd{}}
	for _, t := range r.candidates() {
		switch t {
		case recipe.TypeHash:
			s.by[t] = p.HLen(ctx, key)
		case recipe.TypeZSet:
			s.by[t] = p.ZCard(ctx, key)
		case recipe.TypeSet:
			s.by[t] = p.SCard(ctx, key)
		default:
			s.by[t] = p.StrLen(ctx, key)
		}
	}
	s.memory = p.MemoryUsage(ctx, key, maxSize)
	return s
}

// decide says by which type the key is to be read once more, or puts into the reading why it is not: it is
// gone, no lock, or cannot be read.
func (s sizes) decide(r *keyReading) (kind recipe.KeyType, again bool) {
	var possible []recipe.KeyType // nothing excludes these types
	empty := 0
	for _, t := range lockTypes() {
		cmd := s.by[t]
		if cmd == nil {
			continue
		}
		switch faultOf(cmd.Err()) {
		case noFault:
			if cmd.Val() > 0 {
				r.there = isPresent
				return t, s.worth(r, t)
			}
			empty++ // no key, or an empty string
		case commandFault, serverFault, elsewhere:
			possible = append(possible, t)
		}
	}
	switch {
	case len(possible) > 0:
		for _, t := range possible {
			if t != r.shape.kind {
				return t, s.worth(r, t)
			}
		}
	case r.untyped == nil: // it was of that type a moment ago, and is gone or an empty string
		return recipe.KeyType(r.vote.Value), true
	case empty > 1 && empty == len(s.by):
		r.there = isAbsent
	case empty == 0:
		r.content, r.vote.Foreign, r.vote.Value = otherType, true, "" // of a type that no lock has
	}
	return "", false
}

// worth reports whether the key is worth reading by that type: one more time, and not too large. It bounds
// the reading by the server's memory that the key takes, or where that may not be asked for, by its items.
func (s sizes) worth(r *keyReading, t recipe.KeyType) bool {
	if t == r.shape.kind {
		return false // its reader was refused
	}
	if t == recipe.TypeString {
		return true // no more is read than is shown
	}
	items, memory := s.by[t], s.memory
	counted, weighed := faultOf(items.Err()) == noFault, faultOf(memory.Err()) == noFault
	switch {
	case counted && items.Val() > maxSize, weighed && memory.Val() > maxBytes:
		r.content, r.vote.Foreign, r.vote.Value = otherType, true, inspect.Untrusted(t)
		return false
	case !counted && !weighed:
		if r.untyped == nil {
			r.untyped = items // what is missing
		}
		return false
	}
	return true
}
