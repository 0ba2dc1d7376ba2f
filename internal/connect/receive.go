package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Receive is ReceiveTimeout of a subscription. go-redis 9.23 panics there on a malformed message; here that
// is an error.
func Receive(ctx context.Context, from *redis.PubSub, limit time.Duration) (message any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the server's message is malformed: %v", r)
		}
	}()
	return from.ReceiveTimeout(ctx, limit)
}
