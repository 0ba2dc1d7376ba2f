package redissource

import (
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// pushState is a change of a master's tracking connection.
type pushState struct {
	master  int
	armed   bool
	refused *inspect.Unseen // why it is not armed, if the server refuses
}

// mostKept limits the keys in an inbox. Beyond it, all keys count as changed.
const mostKept = 100_000

// inbox holds the changed keys that a master pushed, until the run takes them.
type inbox struct {
	mu    sync.Mutex
	keys  map[string]bool
	all   bool      // everything may have changed
	heard time.Time // when the newest answered ping was sent; all earlier pushes have arrived
}

func (b *inbox) add(keys []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.keys) > mostKept {
		b.all = true
		return
	}
	if b.keys == nil {
		b.keys = map[string]bool{}
	}
	for _, key := range keys {
		b.keys[key] = true
	}
}

func (b *inbox) addAll() {
	b.mu.Lock()
	b.all = true
	b.mu.Unlock()
}

func (b *inbox) hear(asked time.Time) {
	b.mu.Lock()
	b.heard = asked
	b.mu.Unlock()
}

func (b *inbox) take() (keys map[string]bool, all bool, heard time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys, all = b.keys, b.all
	b.keys, b.all = nil, false
	return keys, all, b.heard
}
