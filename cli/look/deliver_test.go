package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// deliverOnFakeClock runs a receiver until test returns what the receiver has to say.
func deliverOnFakeClock(t *testing.T, send sender, test func(r *receiver, end func()) (want []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := newReceiver(send, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.run(ctx) }()
		want := test(r, func() { cancel(); <-done })
		cancel()
		<-done
		must.Same(t, said, want, "said")
	})
}

func TestFullReceiversDropMessages(t *testing.T) {
	t.Parallel()
	sent := 0
	slow := func(context.Context, message, func(error)) error {
		if sent++; sent == 1 {
			time.Sleep(time.Second)
		}
		return nil
	}
	deliverOnFakeClock(t, slow, func(r *receiver, _ func()) []string {
		r.offer(message{})
		synctest.Wait() // the message is being sent
		for range mostWaiting + 3 {
			r.offer(message{})
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		must.Equal(t, sent, mostWaiting+1, "sent")
		return []string{"3 dropped: they came faster than they could be delivered"}
	})
}

// A message that fails every minute is reported once, and once more when it is given up.
func TestUndeliverableMessagesAreGivenUp(t *testing.T) {
	t.Parallel()
	gone := func(ctx context.Context, _ message, failed func(error)) error {
		for {
			failed(errors.New("gone"))
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	deliverOnFakeClock(t, gone, func(r *receiver, _ func()) []string {
		r.offer(message{})
		time.Sleep(giveUpAfter + time.Second)
		return []string{"not delivered yet: gone", "given up: gone"}
	})
}

func TestReceiversDrainWithinGracePeriod(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, _ message, _ func(error)) error {
		select {
		case <-time.After(2 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	deliverOnFakeClock(t, slow, func(r *receiver, end func()) []string {
		for range 5 {
			r.offer(message{})
		}
		synctest.Wait()
		end()
		return []string{"given up: context canceled", "2 left undelivered"}
	})
}

func TestFailedWebhooksAreRetried(t *testing.T) {
	t.Parallel()
	var answer atomic.Int32
	var requests atomic.Int32
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("Content-Type") + " " + r.Header.Get("Authorization") + " " + string(body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(answer.Load()))
	}))
	defer server.Close()
	at := must.Have(url.Parse(server.URL + "/services/hidden-path"))(t)
	send := webhook(at, "hidden-token")
	for code, again := range map[int]bool{
		200: false, 204: false, 500: true, 503: true, 429: true, 408: true, 400: false, 404: false, 302: false,
	} {
		answer.Store(int32(code))
		requests.Store(0)
		ctx, giveUp := context.WithCancel(t.Context())
		retried := false
		err := send(ctx, message{body: []byte(`{"a":1}`)}, func(err error) {
			retried = true
			must.True(t, !strings.Contains(err.Error(), "hidden"), code, err)
			giveUp()
		})
		giveUp()
		if (err == nil) != (code < 300) || retried != again || err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%d: %v, tried again: %v", code, err, retried)
		}
		if n := requests.Load(); n != 1 { // redirects are not followed
			t.Errorf("%d: %d requests", code, n)
		}
		must.Equal(t, <-got, `application/json Bearer hidden-token {"a":1}`, code, "received")
	}
	server.Close()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	err := send(ctx, message{}, func(error) { giveUp() })
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no server: %v", err)
	}
}
