package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/lockops"
)

// play starts a scenario's clients, and its faults at their times.
func (s *script) play(box *Sandbox) error {
	for i := range s.Contenders {
		for _, name := range s.Contenders[i].names() {
			client, err := s.client(box, &s.Contenders[i], box.worker(name))
			if err != nil {
				return err
			}
			box.run(func(ctx context.Context) {
				if pause(ctx, s.Contenders[i].Start) {
					client(ctx)
				}
			})
		}
	}
	box.run(func(ctx context.Context) {
		for s.round(ctx, box) && s.Repeat > 0 {
		}
	})
	return nil
}

// client runs a worker on a separate session, like a separate process.
func (s *script) client(box *Sandbox, c *scriptContender, w *worker) (func(context.Context), error) {
	lock := s.lock(c.Lock)
	_, key, _ := strings.Cut(lock.ID, ":")
	j := job{lock: c.Lock, work: c.Hold, think: c.Think}
	const ttl = 8 * time.Second
	if lock.Recipe == redsync {
		return func(ctx context.Context) { w.redsync(ctx, key, ttl, j) }, nil
	}
	if strings.HasPrefix(lock.ID, "redis:") {
		session, err := box.redisSession()
		if err != nil {
			return nil, err
		}
		options := []lockops.Option{lockops.WithLabel(w.name), lockops.WithTTL(ttl)}
		return func(ctx context.Context) { w.contend(ctx, lockops.NewRedlock(session, key, options...), j) }, nil
	}
	session, err := box.session()
	if err != nil {
		return nil, err
	}
	first := lock.locker(session, c.Mode, w.name)
	if c.Then == "" {
		return func(ctx context.Context) { w.contend(ctx, first, j) }, nil
	}
	then := s.lock(c.Then).locker(session, "", w.name)
	return func(ctx context.Context) { w.takeBoth(ctx, first, then, j) }, nil
}

// locker returns a client's side of a lock in ZooKeeper.
func (l *scriptLock) locker(session *lockops.ZKSession, mode, label string) lockops.Locker {
	_, path, _ := strings.Cut(l.ID, ":")
	options := []lockops.Option{lockops.WithLabel(label), lockops.WithRecipe(cmp.Or(l.Recipe, "curator"))}
	if l.Prefix != "" {
		options = append(options, lockops.WithPrefix(l.Prefix))
	}
	switch {
	case l.Permits > 0:
		return lockops.NewZKSemaphore(session, path, l.Permits, options...)
	case mode == readMode:
		return lockops.NewZKRWMutex(session, path, options...).Read()
	case mode == writeMode:
		return lockops.NewZKRWMutex(session, path, options...).Write()
	}
	return lockops.NewZKMutex(session, path, options...)
}

// session connects one more client to ZooKeeper.
func (s *Sandbox) session() (*lockops.ZKSession, error) {
	session, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, session.Close)
	return session, nil
}

// connect connects a client that its caller closes.
func (s *Sandbox) connect() (*lockops.ZKSession, error) {
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	return lockops.NewZKSession(ctx, []string{s.zk.Addr()}, lockops.WithSessionTimeout(4*time.Second))
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

// round does all steps once, and reports whether the sandbox continues.
func (s *script) round(ctx context.Context, box *Sandbox) bool {
	past := time.Duration(0)
	for i := range s.Steps {
		if !pause(ctx, s.Steps[i].At-past) {
			return false
		}
		past = s.Steps[i].At
		s.Steps[i].run(box)
	}
	return pause(ctx, s.Repeat-past)
}

func (p *scriptStep) run(box *Sandbox) {
	switch {
	case p.Freeze != "":
		box.Freeze(p.Freeze)
	case p.Stop != 0:
		_ = box.StopMaster(box.addrs[p.Stop-1])
	case p.Start != 0:
		_ = box.StartMaster(box.addrs[p.Start-1])
	case p.Orphan != nil:
		_ = box.leaveOrphan(p.Orphan)
	default:
		box.vote(p.Set)
	}
}

// leaveOrphan leaves a persistent node at the head of a queue, as kazoo's acquire(ephemeral=False) does when
// its process dies, unless one is there.
func (s *Sandbox) leaveOrphan(o *orphan) error {
	session, err := s.connect()
	if err != nil {
		return err
	}
	defer session.Close()
	_, dir, _ := strings.Cut(o.Lock, ":")
	c := session.Conn()
	for i, letter := range dir {
		if i > 0 && letter == '/' {
			_, _ = c.Create(dir[:i], nil, 0, zk.WorldACL(zk.PermAll)) // it may be there
		}
	}
	_, _ = c.Create(dir, nil, 0, zk.WorldACL(zk.PermAll))
	children, _, err := c.Children(dir)
	if err != nil {
		return err
	}
	for _, child := range children {
		if ok, stat, err := c.Exists(dir + "/" + child); err == nil && ok && stat.EphemeralOwner == 0 {
			return nil
		}
	}
	w := s.worker(o.Label)
	name := fmt.Sprintf("%016x%016x__lock__", w.random.Uint64(), w.random.Uint64())
	_, err = c.Create(dir+"/"+name, []byte(o.Label), zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

// vote writes a value in redsync's form to masters that have none. It skips stopped masters.
func (s *Sandbox) vote(v *rawVote) {
	_, key, _ := strings.Cut(v.Lock, ":")
	for i, m := range s.masters {
		if v.Masters != nil && !slices.Contains(v.Masters, i+1) || m.isStopped() || m.Exists(key) {
			continue
		}
		_ = m.Set(key, redsyncValue(v.Owner))
		if v.TTL > 0 {
			m.SetTTL(key, v.TTL)
		}
	}
}

// redsyncValue returns a value in redsync's form, 16 bytes in base64, always the same for a client.
// Only keys that are likely to be locks get findings.
func redsyncValue(client string) string {
	sum := sha256.Sum256([]byte(client))
	return base64.StdEncoding.EncodeToString(sum[:16])
}
