package redissource

import "github.com/lockscope/lockscope/inspect/redissource/node"

import "time"

// tick polls known keys on the masters that do not push. A master that is still busy is skipped.
func (r *run) tick() {
	if r.cfg.Once {
		return
	}
	now := r.cfg.Now()
	r.retryRefused(now)
	var polled []*masterState
	for _, p := range r.masters {
		if p.pushing && p.up() || now.Before(p.retryAt) || len(p.wanted) >= r.cfg.Budget.KeysPerTick {
			continue
		}
		polled = append(polled, p)
	}
	r.poll(polled, now)
	for _, p := range polled {
		if p.up() && now.Sub(p.auditedAt) >= auditEvery {
			r.audit(p, nil, now)
		}
		p.probe = p.probe || len(p.wanted) == 0 && now.Sub(p.askedAt) >= node.RetryEvery
	}
}

// poll reads the same known keys on all these masters, as many as their budgets allow.
func (r *run) poll(masters []*masterState, now time.Time) {
	if len(masters) == 0 {
		return
	}
	room := r.cfg.Budget.KeysPerTick
	cost := func(string) int { return 1 }
	if !r.cfg.Budget.Unlimited {
		room, cost = r.polls.Burst, masters[0].Cost
		for _, p := range masters {
			room = min(room, r.pollsOf(p).Room(p.polled, now))
		}
	}
	if room <= 0 {
		return
	}
	for _, key := range r.table.choose(room, cost, r.focus) {
		for _, p := range masters {
			if _, ok := r.table.place(key, p.index); !ok {
				continue
			}
			p.want(key, r.perKey, now)
			p.polled = r.pollsOf(p).Spend(p.polled, now, p.Cost(key))
		}
	}
}

// pollsOf returns a master's polling limit, which is halved while the master is slow.
func (r *run) pollsOf(p *masterState) node.Limit {
	if p.pace.Slow {
		return r.polls.Slowed()
	}
	return r.polls
}
