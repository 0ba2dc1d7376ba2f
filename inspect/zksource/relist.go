package zksource

import "time"

// rereads notes that a child that was read is to be read again.
func (d *dir) rereads(name string) {
	if d.reread == nil {
		d.reread = map[string]bool{}
	}
	d.reread[name] = true
}

// touch has a directory listed again, no sooner than its budget allows.
func (r *run) touch(d *dir, now time.Time) {
	if d.busy {
		d.again = true
		return
	}
	if r.due[d] || d.phase == crowded {
		return
	}
	if wait := r.relists(d).take(now); wait > 0 && !r.cfg.Budget.Unlimited {
		d.due = now.Add(wait)
		r.due[d] = true
		return
	}
	if d.phase == leaf {
		r.push(&r.queue.urgent, job{kind: jobData, dir: d})
		return
	}
	d.answers = true
	r.push(&r.queue.urgent, job{kind: jobList, dir: d})
}

// relists is a directory's own budget of lists. Most are listed once, and have none.
func (r *run) relists(d *dir) *bucket {
	if d.relists == nil {
		b := newBucket(r.cfg.Budget.Relists, max(1, r.cfg.Budget.Relists))
		d.relists = &b
	}
	return d.relists
}

// wakeDue has those directories listed again whose budget allows it now.
func (r *run) wakeDue(now time.Time) {
	for d := range r.due {
		if !now.Before(d.due) {
			delete(r.due, d)
			r.touch(d, now)
		}
	}
}
