package redissource

import (
	"maps"
	"slices"
	"sync"
	"time"

	"lockscope/inspect"
)

// once looks at everything one time, on all masters at the same time, and emits it.
func (r *run) once() {
	var mu sync.Mutex
	keys := map[string]bool{}
	var looking sync.WaitGroup
	for _, p := range r.masters {
		looking.Go(func() {
			st, err := p.readStatus(r.ctx)
			if err != nil {
				p.failed(err)
				return
			}
			p.setStatus(st)
			if r.cfg.Only != "" {
				return
			}
			p.scanErr = newScanner(p.master, r.cfg).pass(r.ctx, func(found []string) {
				mu.Lock()
				defer mu.Unlock()
				for _, key := range found {
					keys[key] = true
				}
			})
			if p.scanErr != nil && !isDenied(p.scanErr) {
				p.failed(p.scanErr)
			}
		})
	}
	looking.Wait()
	sorted := slices.Sorted(maps.Keys(keys))
	for _, key := range sorted {
		r.board.add(key, time.Time{})
	}
	if r.cfg.Only != "" {
		sorted = []string{r.cfg.Only}
	}
	r.readOnce(sorted)
	if r.ctx.Err() != nil {
		return
	}
	r.emitOnce(sorted)
}

// readOnce reads all keys on all masters, and records what they say.
func (r *run) readOnce(keys []string) {
	const atOnce = 500
	results := make([][]inspect.Vote, len(r.masters))
	var reading sync.WaitGroup
	for i, p := range r.masters {
		if p.server.State == inspect.ServerDown {
			continue
		}
		reading.Go(func() {
			for chunk := range slices.Chunk(keys, atOnce) {
				votes, err := p.readVotes(r.ctx, chunk)
				if err != nil {
					p.failed(err)
					return
				}
				results[i] = append(results[i], votes...)
			}
		})
	}
	reading.Wait()
	for i, p := range r.masters {
		if p.err != nil {
			r.board.silence(i, p.err)
			continue
		}
		for k, v := range results[i] {
			r.board.vote(i, keys[k], v)
		}
	}
}

func (r *run) emitOnce(keys []string) {
	now := time.Now()
	var u inspect.Update
	for _, key := range keys {
		if lock, _ := r.board.judge(key, now); lock != nil {
			u.Put = append(u.Put, lock)
		}
	}
	u.Backend = r.describe(inspect.ModeOnce)
	u.Backend.FirstPass = true
	r.emit(u)
}
