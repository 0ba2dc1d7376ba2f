package sandbox

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	stuckLock = "zk:/locks/payments"
	// grantsBefore the holder hangs: enough to know what is usual.
	grantsBefore = 30
)

// stuck shows two locks that do not move: one whose holder hangs, and one whose holder left its node behind for ever.
func stuck() Scenario {
	return Scenario{
		Name:  "stuck",
		About: "locks that do not move: a holder that hangs, and one that is gone and left its node behind",
		scenes: []Scene{
			{
				Title: "left behind", Lock: "zk:/locks/invoices",
				Text: "A dead script's node, owned by no session, blocks it until someone removes it. f: what is wrong; enter, x: release it.",
			},
			{
				Title: "hung holder", Lock: stuckLock,
				Text: "It changes hands twice a second, but every so often its holder hangs. enter: who holds it, since when, what to do.",
			},
		},
		play: func(s *Sandbox) error {
			if err := s.leaveOrphan(); err != nil {
				return err
			}
			var grants atomic.Int64
			return s.playQueues(
				queue{
					path: "/locks/invoices", recipe: "kazoo", workers: names("invoice", 3),
					work: span{time.Second, 2 * time.Second}, think: span{time.Second, 3 * time.Second},
				},
				queue{
					path: "/locks/payments", recipe: "curator", workers: names("payment", 5),
					work: span{150 * time.Millisecond, 300 * time.Millisecond}, think: span{0, 400 * time.Millisecond},
					granted: func() {
						if grants.Add(1)%grantsBefore == 0 {
							s.Freeze(stuckLock)
						}
					},
				},
			)
		},
	}
}

// leaveOrphan leaves a persistent node at the head of a queue, as kazoo's acquire(ephemeral=False) does when its process
// dies, and again some time after somebody has removed it.
func (s *Sandbox) leaveOrphan() error {
	session, err := s.session()
	if err != nil {
		return err
	}
	leave := func() error {
		const dir = "/locks/invoices"
		for _, parent := range []string{"/locks", dir} {
			if _, err := session.Conn().Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
				return err
			}
		}
		_, err := session.Conn().Create(dir+"/"+guid(s.worker("nightly-import"))+"__lock__", []byte("nightly-import"), zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return err
	}
	if err := leave(); err != nil {
		return err
	}
	s.run(func(ctx context.Context) {
		for pause(ctx, 2*time.Minute) {
			if stuck, err := s.hasOrphan(session.Conn(), "/locks/invoices"); err == nil && !stuck {
				_ = leave() // the sandbox's own server: it fails only when it ends
			}
		}
	})
	return nil
}

func (s *Sandbox) hasOrphan(c *zk.Conn, dir string) (bool, error) {
	children, _, err := c.Children(dir)
	if err != nil {
		return false, err
	}
	for _, child := range children {
		if ok, stat, err := c.Exists(dir + "/" + child); err == nil && ok && stat.EphemeralOwner == 0 {
			return true, nil
		}
	}
	return false, nil
}
