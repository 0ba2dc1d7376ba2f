package sandbox

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/lockops"
)

// cast are the sessions of a scenario's clients on ZooKeeper, by name.
type cast struct {
	mu       sync.Mutex
	sessions map[string]*lockops.ZKSession
}

func (c *cast) session(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[name].Conn().SessionID()
}

// play starts a file's clients, and its faults in time.
func (s *script) play(box *Sandbox) error {
	who := &cast{sessions: map[string]*lockops.ZKSession{}}
	for i := range s.Contenders {
		c := &s.Contenders[i]
		for _, name := range c.names() {
			lock, err := s.locker(box, who, c, name)
			if err != nil {
				return err
			}
			w := box.worker(name)
			box.run(func(ctx context.Context) {
				if pause(ctx, c.Start) {
					w.contend(ctx, lock, job{lock: c.Lock, work: c.Hold, think: c.Think})
				}
			})
		}
	}
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b scriptStep) int { return cmp.Compare(a.At, b.At) })
	box.run(func(ctx context.Context) {
		for s.round(ctx, box, who, steps) && s.Repeat > 0 {
		}
	})
	return nil
}

// locker is a client's lock, on a session of its own as processes have.
func (s *script) locker(box *Sandbox, who *cast, c *scriptContender, name string) (lockops.Locker, error) {
	lock := s.lock(c.Lock)
	backend, path, _ := strings.Cut(lock.ID, ":")
	if backend == "zk" {
		session, err := box.session()
		if err != nil {
			return nil, err
		}
		who.sessions[name] = session
		return lockops.NewZKMutex(session, path, lockops.WithLabel(name), lockops.WithRecipe(cmp.Or(lock.Recipe, "curator"))), nil
	}
	session, err := box.redisSession()
	if err != nil {
		return nil, err
	}
	options := []lockops.Option{lockops.WithLabel(name), lockops.WithTTL(cmp.Or(lock.TTL, 8*time.Second))}
	if len(box.masters) == 1 {
		return lockops.NewRedisMutex(session, path, options...), nil
	}
	return lockops.NewRedlock(session, path, options...), nil
}

// redisSession connects one more client to all masters.
func (s *Sandbox) redisSession() (*lockops.RedisSession, error) {
	masters := make([]*redis.UniversalOptions, len(s.masters))
	for i, addr := range s.addrs {
		masters[i] = &redis.UniversalOptions{Addrs: []string{addr}}
	}
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	session, err := lockops.NewRedisSession(ctx, masters)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, session.Close)
	return session, nil
}

// round does all steps once, and reports whether the sandbox goes on.
func (s *script) round(ctx context.Context, box *Sandbox, who *cast, steps []scriptStep) bool {
	past := time.Duration(0)
	for i := range steps {
		if !pause(ctx, steps[i].At-past) {
			return false
		}
		past = steps[i].At
		steps[i].run(box, who)
	}
	return pause(ctx, s.Repeat-past)
}

// run does a step. What it is about may be gone or done already, by the screen's own faults: then it does nothing.
func (p *scriptStep) run(box *Sandbox, who *cast) {
	master := func(n int) *redisServer { return box.masters[n-1] }
	switch {
	case p.Freeze != "":
		box.Freeze(p.Freeze)
	case p.Thaw != "":
		box.Thaw(p.Thaw)
	case p.Expire != "":
		_ = box.ExpireSession(who.session(p.Expire))
	case p.Cut != "":
		_ = box.Cut(who.session(p.Cut))
	case p.Stop != 0:
		_ = box.StopMaster(master(p.Stop).addr)
	case p.Start != 0:
		_ = box.StartMaster(master(p.Start).addr)
	case p.Empty != 0:
		_ = box.restartEmpty(master(p.Empty))
	default:
		master(p.Clock.Master).stepClock(p.Clock.By)
	}
}

// restartEmpty restarts a master with nothing, but for one that somebody has stopped.
func (s *Sandbox) restartEmpty(m *redisServer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.isStopped() {
		return nil
	}
	return m.restartEmpty()
}
