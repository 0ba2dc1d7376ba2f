package lockops

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// waiters are a session's contenders that messages can reach, by their value in a queue.
type waiters struct {
	mu     sync.Mutex
	byName map[string]*waiter
}

// waiter is one of them.
type waiter struct {
	lock string
	news chan struct{} // there is something to look at

	mu   sync.Mutex
	turn *turn
}

// turn is the message to the next waiter.
type turn struct {
	token uint64
	at    int64         // the server's clock when it gave the lock, in µs since 1970; 0: it only said to look
	grant time.Duration // the TTL of the grant
}

// add makes a waiter known; remove it when it waits no longer.
func (ws *waiters) add(lock, value string) *waiter {
	w := &waiter{lock: lock, news: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byName == nil {
		ws.byName = make(map[string]*waiter)
	}
	ws.byName[value] = w
	return w
}

func (ws *waiters) remove(value string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byName, value)
}

// notify passes on "token seconds microseconds grant value", as wake.lua and fair.lua publish it; grant is in µs.
func (ws *waiters) notify(message string) {
	var n [4]int64
	for i := range n {
		field, rest, ok := strings.Cut(message, " ")
		v, err := strconv.ParseInt(field, 10, 64)
		if !ok || err != nil {
			return // not ours: anybody may publish
		}
		n[i], message = v, rest
	}
	ws.mu.Lock()
	w := ws.byName[message]
	ws.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	w.turn = &turn{token: uint64(n[0]), at: n[1]*1e6 + n[2], grant: time.Duration(n[3]) * time.Microsecond}
	w.mu.Unlock()
	w.poke()
}

// look wakes all waiters for a lock, or for any, to look again.
func (ws *waiters) look(lock string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.byName {
		if lock == "" || w.lock == lock {
			w.poke()
		}
	}
}

func (w *waiter) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// take is the message since the last time, nil when there was none.
func (w *waiter) take() *turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turn
	w.turn = nil
	return t
}
