package sourcekit

import "context"

// WithoutDeadline is a context that ends when ctx does, but has no deadline. With a deadline, a running read
// fails at that time as if the server had not answered, perhaps before the context itself has
// ended. Our own end would then be reported as the server's failure. Without one the end is always
// seen first, and a running read can be cut off after that.
func WithoutDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return own, func() {
		stop()
		cancel(nil)
	}
}
