package inspect

import (
	"context"
	"sync"
	"time"
)

const (
	// attentionEvery is the interval in which a source that is attended shows that it runs.
	attentionEvery = 250 * time.Millisecond
	// stoppedFor is the pause of this process above which events may have gone unseen.
	stoppedFor = 3 * time.Second
)

// Attend is a source that notices when this process, or the whole machine, stood still: it emits a Gap before whatever it
// reads next. A debugger, SIGSTOP and a closed lid do that; no server reports afterwards what happened meanwhile.
func Attend(s Source) Source { return attended{Source: s, now: wallClock, every: attentionEvery} }

// wallClock is without the monotonic part, which stands still with the machine.
func wallClock() time.Time { return time.Now().Round(0) }

type attended struct {
	Source
	now   func() time.Time
	every time.Duration
}

// Run is the source's, with the gaps between its updates.
func (a attended) Run(ctx context.Context, emit func(Update)) error {
	w := &attention{attended: a, emit: emit, ran: a.now()}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beats := time.NewTicker(a.every)
		defer beats.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beats.C:
				w.pass(Update{}, false)
			}
		}
	}()
	err := a.Source.Run(ctx, func(u Update) { w.pass(u, true) })
	stop()
	<-ended
	return err
}

// attention is one run of an attended source.
type attention struct {
	attended
	mu      sync.Mutex // emit must not be called concurrently
	emit    func(Update)
	ran     time.Time // when something of us ran last; handing over an update, which may take long, counts
	backend string
}

// pass hands an update over, after the gap before it; told: there is a gap to report.
func (w *attention) pass(u Update, report bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); w.backend != "" && now.Sub(w.ran) > stoppedFor {
		w.emit(Update{Gap: &Gap{Backend: w.backend, From: w.ran, Until: now}})
	}
	if u.Backend != nil {
		w.backend = u.Backend.Name
	}
	if report {
		w.emit(u)
	}
	w.ran = w.now()
}
