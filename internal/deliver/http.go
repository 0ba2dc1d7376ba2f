package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Webhook returns a sender that posts a message's body as JSON. A bearer token goes into its header where there is one. No
// error shows the path of the address, which is a secret with many receivers, nor the token.
func Webhook(client *http.Client, address *url.URL, token string) func(context.Context, Message) error {
	return func(ctx context.Context, m Message) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(m.Body))
		if err != nil {
			return fmt.Errorf("webhook %s: %w", address.Host, ErrRefused)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", "lockscope")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(request)
		if err != nil {
			if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
				err = wrapped.Err // its text has the address
			}
			return fmt.Errorf("webhook %s: %w", address.Host, err)
		}
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // the connection is used again where it ends here
		response.Body.Close()
		switch code := response.StatusCode; {
		case code < 300:
			return nil
		case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
			return fmt.Errorf("webhook %s: it answers %d", address.Host, code)
		default:
			return fmt.Errorf("webhook %s: it answers %d: %w", address.Host, code, ErrRefused)
		}
	}
}

// WebhookClient is for Webhook: it follows no redirection, which would take token and body to another place.
func WebhookClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
