package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Receive is a subscription's ReceiveTimeout. go-redis 9.23 panics on a malformed message; Receive
// returns an error.
func Receive(ctx context.Context, from *redis.PubSub, limit time.Duration) (message any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the server's message is malformed: %v", r)
		}
	}()
	return from.ReceiveTimeout(ctx, limit)
}
