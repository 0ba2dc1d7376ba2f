package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Receive calls a subscription's ReceiveTimeout. It returns an error for a malformed message, on
// which go-redis 9.23 panics.
func Receive(ctx context.Context, from *redis.PubSub, limit time.Duration) (message any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the server's message is malformed: %v", r)
		}
	}()
	return from.ReceiveTimeout(ctx, limit)
}
