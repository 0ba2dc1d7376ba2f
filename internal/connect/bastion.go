package connect

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// bastion spaces out the ssh logins to a host, since hosts lock out clients that fail too often.
// Until one works, logins run one at a time, with a longer pause after each failure. A refused key
// or an unknown host ends all attempts.
type bastion struct {
	turn chan struct{} // full during a login that others wait for

	mu       sync.Mutex
	reached  bool
	failures int
	next     time.Time
	refused  string
}

// login is the result of an attempt; loginCut means that we gave up.
type login int

const (
	loginWorked login = iota
	loginFailed
	loginCut
)

// ssh's messages about failures that a retry cannot fix.
const (
	deniedBySSH  = "Permission denied"
	unknownToSSH = "Host key verification failed"
)

// Pauses between failed logins.
const (
	firstSSHPause = time.Second
	mostSSHPause  = time.Minute
)

func newBastion() *bastion { return &bastion{turn: make(chan struct{}, 1)} }

// enter waits until a login may be tried. The caller reports the outcome to settle.
func (b *bastion) enter(ctx context.Context) (settle func(result login, why string), err error) {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, &RefusedError{"ssh: another login to the same host did not finish in time", ctx.Err()}
	}
	leave := sync.OnceFunc(func() { <-b.turn })
	b.mu.Lock()
	reached, pause, refused := b.reached, time.Until(b.next), b.refused
	b.mu.Unlock()
	if refused == "" && pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			leave()
			again := pause.Round(time.Second)
			return nil, &RefusedError{
				fmt.Sprintf("ssh: earlier logins failed, so the next one must wait %v", again),
				ctx.Err(),
			}
		}
	}
	if refused != "" || reached {
		leave()
	}
	if refused != "" {
		return nil, &RefusedError{refused, nil}
	}
	var once sync.Once
	return func(result login, why string) {
		once.Do(func() {
			b.settle(result, why)
			leave()
		})
	}, nil
}

func (b *bastion) settle(result login, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case result == loginCut:
		return
	case result == loginWorked:
		b.reached, b.failures = true, 0
		return
	case strings.Contains(why, deniedBySSH), strings.Contains(why, unknownToSSH):
		b.refused = why
	}
	b.reached = false
	b.failures++
	b.next = time.Now().Add(min(firstSSHPause<<min(b.failures-1, 10), mostSSHPause))
}
