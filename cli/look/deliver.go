package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Limits of a delivery, which tolerate a receiver that is gone for a quarter of an hour.
const (
	mostWaiting  = 1000 // messages; more are dropped, and counted
	oneAttempt   = 10 * time.Second
	firstPause   = time.Second // doubles with each attempt
	longestPause = time.Minute
	giveUpAfter  = 15 * time.Minute
	lastGrace    = 5 * time.Second // for the messages that remain at the end
)

// message is news for a receiver: a line of JSON, and the variables for a receiver that is a
// program.
type message struct {
	body []byte
	env  []string
}

// sender tries to deliver a message until ctx ends; failed is called for each failed attempt.
type sender func(ctx context.Context, m message, failed func(error)) error

// receiver gets messages one at a time, in their order. It may be slow, failing or gone: offer
// never waits.
type receiver struct {
	send    sender
	report  func(format string, args ...any)
	waiting chan message
	dropped atomic.Int64
}

func newReceiver(send sender, report func(string, ...any)) *receiver {
	return &receiver{send: send, report: report, waiting: make(chan message, mostWaiting)}
}

func (r *receiver) offer(m message) {
	select {
	case r.waiting <- m:
	default:
		r.dropped.Add(1)
	}
}

// run delivers until ctx ends, then spends at most lastGrace on the remaining messages.
func (r *receiver) run(ctx context.Context) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastGrace, end) })()
	for life.Err() == nil {
		select {
		case m := <-r.waiting:
			r.deliver(life, m)
			continue
		default:
		}
		select {
		case m := <-r.waiting:
			r.deliver(life, m)
		case <-ctx.Done():
			return
		}
	}
	if n := len(r.waiting); n > 0 {
		r.report("%d left undelivered", n)
	}
}

func (r *receiver) deliver(ctx context.Context, m message) {
	limited, cancel := context.WithTimeout(ctx, giveUpAfter)
	defer cancel()
	var failure error
	err := r.send(limited, m, func(err error) {
		if failure == nil {
			r.report("not delivered yet: %v", err)
		}
		failure = err
	})
	switch {
	case err == nil && failure != nil:
		r.report("delivered again")
	case err != nil && limited.Err() != nil && failure != nil:
		r.report("given up: %v", failure)
	case err != nil:
		r.report("given up: %v", err)
	}
	if n := r.dropped.Swap(0); n > 0 {
		r.report("%d dropped: they came faster than they could be delivered", n)
	}
}

// webhook returns a sender that posts a message's body as JSON, with a bearer token if there is
// one. Errors show neither the token nor the path of the address, which is a secret for many
// receivers. Redirects are not followed: they would send token and body elsewhere.
func webhook(address *url.URL, token string) sender {
	once := &http.Client{
		Timeout:       oneAttempt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, m message, failed func(error)) error {
		named := func(err error) error { return fmt.Errorf("webhook %s: %w", address.Host, withoutAddress(err)) }
		request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, address.String(), m.body)
		if err != nil {
			return named(errors.New("the request cannot be made"))
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", "lockscope")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		client := &retryablehttp.Client{
			HTTPClient: once, Backoff: retryablehttp.DefaultBackoff,
			RetryWaitMin: firstPause, RetryWaitMax: longestPause, RetryMax: math.MaxInt,
			CheckRetry: func(ctx context.Context, response *http.Response, err error) (bool, error) {
				if err == nil && retryable(response.StatusCode) {
					err = answered(response)
				}
				if err == nil || ctx.Err() != nil {
					return false, nil
				}
				failed(named(err))
				return true, nil
			},
		}
		response, err := client.Do(request)
		if err != nil {
			return named(err)
		}
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // lets the connection be reused if the body ends here
		response.Body.Close()
		if response.StatusCode >= 300 {
			return named(answered(response))
		}
		return nil
	}
}

func answered(r *http.Response) error { return fmt.Errorf("status %d", r.StatusCode) }

func retryable(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// withoutAddress is the error without the URL that net/http puts before it.
func withoutAddress(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
