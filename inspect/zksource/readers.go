package zksource

import "slices"

// moreReaders are the further connections on which a pass without a budget reads contenders: a server answers the
// requests of one session one after the other.
const moreReaders = 2

// openReaders opens them; until they are there, and where they fail, the first connection does it all.
func (r *run) openReaders() {
	if !r.cfg.Once || !r.cfg.Budget.Unlimited || r.opened || r.link.readOnly {
		return
	}
	r.opened = true
	for range moreReaders {
		if l, err := open(r.cfg, r.cfg.Servers, false, r.sessionTimeout(), r.link.patience, r.inbox); err == nil {
			r.opening = append(r.opening, l)
		}
	}
}

// readerEvent takes in what happened to one of them; false when it is not one.
func (r *run) readerEvent(e linkEvent) bool {
	i, ready := slices.Index(r.opening, e.link), slices.Index(r.readers, e.link)
	switch {
	case i < 0 && ready < 0:
		return false
	case e.kind == linkUp && len(r.cfg.Auth) > 0 && i >= 0:
		r.tasks.Go(func() {
			kind := linkIn
			if e.link.conn.AddAuth("digest", r.cfg.Auth) != nil {
				kind = linkLost
			}
			r.inbox.add(linkEvent{link: e.link, at: e.at, kind: kind})
		})
	case (e.kind == linkUp || e.kind == linkIn) && i >= 0:
		r.opening = slices.Delete(r.opening, i, i+1)
		r.readers = append(r.readers, e.link)
	case e.kind == linkLost || e.kind == linkFailed:
		if i >= 0 {
			r.opening = slices.Delete(r.opening, i, i+1)
		} else {
			r.readers = slices.Delete(r.readers, ready, ready+1)
		}
		r.drop(e.link)
	}
	return true
}

// reader is the connection to read the next contender on.
func (r *run) reader() *link {
	r.turn++
	if i := r.turn % (len(r.readers) + 1); i > 0 {
		return r.readers[i-1]
	}
	return r.link
}

// dropReaders ends them with the first connection.
func (r *run) dropReaders() {
	for _, l := range slices.Concat(r.opening, r.readers) {
		r.drop(l)
	}
	r.opening, r.readers = nil, nil
}

// drop ends a connection in the background.
func (r *run) drop(l *link) {
	r.spend(l.cost())
	r.tasks.Go(l.close)
}

// spend counts what a connection that is gone has cost.
func (r *run) spend(c *cost) {
	r.spent += c.requests
	r.heartbeats += c.heartbeats
	r.spentOn[c.server] += c.requests
}
