package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/lockops"
)

const archiveDir = "/locks/archive"

// wakeUp shows a wake-up that is lost: a client watches a node that went before it asked, and waits for ever.
func wakeUp() Scenario {
	return Scenario{
		Name:  "wakeup",
		About: "a lost wake-up: the first in line watches a node that is gone, and all behind it wait",
		scenes: []Scene{{
			Title: "lost wake-up", Lock: "zk:" + archiveDir,
			Text: "The first in line watches a node that went before it asked, and does not know that it is its turn. enter: who; f: why.",
		}},
		play: func(s *Sandbox) error {
			s.run(s.archive)
			return nil
		},
	}
}

// archive plays the race of ZooKeeper's own WriteLock, again and again; after a minute somebody restarts the client.
func (s *Sandbox) archive(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.loseWakeUp(ctx) // the sandbox's own server: it fails only when it ends
		if !pause(ctx, 5*time.Second) {
			return
		}
	}
}

// loseWakeUp queues as WriteLock does: nodes named by the session, and a watch set by asking whether the one before exists. The
// first goes between the second's list and its question, whose answer that client does not look at.
func (s *Sandbox) loseWakeUp(ctx context.Context) error {
	var waiters [3]writeLock
	for i := range waiters {
		w, err := s.queueAsWriteLock(ctx)
		if err != nil {
			return err
		}
		defer w.session.Close()
		waiters[i] = w
		if i == 1 { // it has listed by now, and is about to ask for the first
			if !pause(ctx, 2*time.Second) {
				return ctx.Err()
			}
			if err := waiters[0].session.Conn().Delete(waiters[0].path, -1); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		if _, _, _, err := w.session.Conn().ExistsW(waiters[i-1].path); err != nil {
			return err
		}
	}
	pause(ctx, time.Minute)
	return ctx.Err()
}

// writeLock is a client in the queue.
type writeLock struct {
	session *lockops.ZKSession
	path    string
}

func (s *Sandbox) queueAsWriteLock(ctx context.Context) (writeLock, error) {
	session, err := s.connect(ctx)
	if err != nil {
		return writeLock{}, err
	}
	c := session.Conn()
	for _, parent := range []string{"/locks", archiveDir} {
		if _, err = c.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			break
		}
	}
	path, err := c.Create(fmt.Sprintf("%s/x-%d-", archiveDir, c.SessionID()), nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		session.Close()
		return writeLock{}, err
	}
	return writeLock{session, path}, nil
}
