package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// receiver takes messages down as KEY:LEVEL, and fails as a test wants it.
type receiver struct {
	mu   sync.Mutex
	got  []string
	said []string
	fail func(Message) error
}

func (r *receiver) send(ctx context.Context, m Message) error {
	r.mu.Lock()
	fail := r.fail
	r.mu.Unlock()
	if fail != nil {
		if err := fail(m); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprint(m.Key, ":", m.Level))
	return nil
}

func (r *receiver) failWith(f func(Message) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = f
}

func (r *receiver) report(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *receiver) check(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.got, want) {
		t.Errorf("delivered %q, want %q", r.got, want)
	}
}

func (r *receiver) says(t *testing.T, want string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(strings.Join(r.said, "\n"), want) {
		t.Errorf("said %q, want %q", r.said, want)
	}
}

// inBubble runs a queue by a clock of its own; it has ended when f has returned and end was called.
func inBubble(t *testing.T, limits Limits, f func(r *receiver, q *Queue, end func())) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		q := New(limits, r.send, r.report)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); q.Run(ctx) }()
		f(r, q, func() { cancel(); <-done })
		cancel()
		<-done
	})
}

func TestWhatIsKnownIsNotReportedAgain(t *testing.T) {
	inBubble(t, DefaultLimits(), func(r *receiver, q *Queue, _ func()) {
		for _, m := range []Message{
			{Key: "a", Level: 2},
			{Key: "a", Level: 2},
			{Key: "a", Level: 1},
			{Key: "b"}, // nobody knows of it
			{Key: "a", Level: 3},
			{Key: "a"},
			{Key: "a"},
			{Key: "a", Level: 2},
		} {
			q.Offer(m)
			synctest.Wait()
		}
		r.check(t, "a:2", "a:3", "a:0", "a:2")
	})
}

var errGone = errors.New("gone")

func TestAFailedDeliveryIsTriedAgainWithTheNewestNews(t *testing.T) {
	inBubble(t, DefaultLimits(), func(r *receiver, q *Queue, _ func()) {
		q.Offer(Message{Key: "known", Level: 1})
		synctest.Wait()
		r.failWith(func(Message) error { return errGone })
		q.Offer(Message{Key: "worse", Level: 1})
		q.Offer(Message{Key: "brief", Level: 1})
		q.Offer(Message{Key: "known"})
		time.Sleep(10 * time.Second)
		q.Offer(Message{Key: "worse", Level: 2})
		q.Offer(Message{Key: "brief"})           // over before anybody heard
		q.Offer(Message{Key: "known", Level: 1}) // as it is known
		r.failWith(nil)
		time.Sleep(time.Minute)
		r.check(t, "known:1", "worse:2")
		r.says(t, "not delivered yet: gone")
		r.says(t, "delivered again")
	})
}

// What is over while its beginning is being sent, in vain, was never reported.
func TestOverWhileItIsSent(t *testing.T) {
	inBubble(t, DefaultLimits(), func(r *receiver, q *Queue, _ func()) {
		first := true
		r.failWith(func(m Message) error {
			if !first {
				return nil
			}
			first = false
			q.Offer(Message{Key: m.Key})
			return errGone
		})
		q.Offer(Message{Key: "a", Level: 1})
		time.Sleep(time.Minute)
		r.check(t)
		r.failWith(func(m Message) error {
			if m.Level == 2 {
				q.Offer(Message{Key: m.Key})
			}
			return nil
		})
		q.Offer(Message{Key: "b", Level: 2})
		synctest.Wait()
		r.check(t, "b:2", "b:0")
	})
}

func TestALimitedQueueSaysWhatItDropped(t *testing.T) {
	limits := DefaultLimits()
	limits.Waiting = 2
	inBubble(t, limits, func(r *receiver, q *Queue, _ func()) {
		q.Offer(Message{Key: "known", Level: 1})
		synctest.Wait()
		release := make(chan struct{})
		r.failWith(func(Message) error { <-release; return nil })
		q.Offer(Message{Key: "0", Level: 1})
		synctest.Wait() // it is being sent
		for _, key := range []string{"1", "2", "3", "4"} {
			q.Offer(Message{Key: key, Level: 1})
		}
		q.Offer(Message{Key: "known"}) // dropped, too: whoever gets it next must hear of it
		close(release)
		synctest.Wait()
		r.says(t, "3 dropped")
		q.Offer(Message{Key: "known", Level: 1})
		synctest.Wait()
		r.check(t, "known:1", "0:1", "1:1", "2:1", "known:1")
	})
}

func TestWhatCannotBeDeliveredIsGivenUp(t *testing.T) {
	inBubble(t, DefaultLimits(), func(r *receiver, q *Queue, _ func()) {
		r.failWith(func(m Message) error {
			if m.Key == "bad" {
				return fmt.Errorf("%w for good", ErrRefused)
			}
			return errGone
		})
		q.Offer(Message{Key: "bad", Level: 1})
		q.Offer(Message{Key: "late", Level: 1})
		time.Sleep(20 * time.Minute)
		r.says(t, "given up: refused for good")
		r.says(t, "given up: gone")
		r.failWith(nil)
		q.Offer(Message{Key: "late", Level: 1}) // its receiver knows nothing of it
		time.Sleep(2 * time.Minute)
		r.check(t, "late:1")
	})
}

func TestAReceiverThatHangsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Int32
		q := New(DefaultLimits(), func(ctx context.Context, _ Message) error { hung.Add(1); <-ctx.Done(); return ctx.Err() }, t.Logf)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); q.Run(ctx) }()
		q.Offer(Message{Key: "a", Level: 1})
		time.Sleep(15 * time.Second)
		if hung.Load() != 2 {
			t.Errorf("%d attempts after 15 s, want a second one after the first was given 10 s", hung.Load())
		}
		cancel()
		began := time.Now()
		<-done
		if took := time.Since(began); took > DefaultLimits().Grace {
			t.Errorf("it went on for %v", took)
		}
	})
}

func TestWhatWaitsAtTheEndIsDelivered(t *testing.T) {
	inBubble(t, DefaultLimits(), func(r *receiver, q *Queue, end func()) {
		r.failWith(func(Message) error { time.Sleep(2 * time.Second); return nil })
		for _, key := range []string{"a", "b", "c", "d"} {
			q.Offer(Message{Key: key, Level: 1})
		}
		synctest.Wait()
		end()
		r.says(t, "left undelivered")
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.got) < 2 || len(r.got) > 3 {
			t.Errorf("delivered %q in 5 s of 2 s each", r.got)
		}
	})
}

func TestWebhook(t *testing.T) {
	answer := http.StatusOK
	var body, auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := new(strings.Builder)
		if _, err := fmt.Fprint(text, r.Header.Get("Content-Type"), " "); err != nil {
			t.Error(err)
		}
		read := make([]byte, 100)
		n, _ := r.Body.Read(read)
		body, auth = text.String()+string(read[:n]), r.Header.Get("Authorization")
		if answer == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(answer)
	}))
	defer server.Close()
	at, err := url.Parse(server.URL + "/services/hidden-path")
	if err != nil {
		t.Fatal(err)
	}
	send := Webhook(WebhookClient(), at, "hidden-token")
	if err := send(t.Context(), Message{Body: []byte(`{"a":1}`)}); err != nil || body != `application/json {"a":1}` || auth != "Bearer hidden-token" {
		t.Errorf("%v; it got %q, %q", err, body, auth)
	}
	for code, refused := range map[int]bool{500: false, 503: false, 429: false, 408: false, 400: true, 404: true, 302: true} {
		answer = code
		if err := send(t.Context(), Message{}); err == nil || errors.Is(err, ErrRefused) != refused || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d: %v", code, err)
		}
	}
	server.Close()
	if err := send(t.Context(), Message{}); err == nil || errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("nobody there: %v", err)
	}
}
