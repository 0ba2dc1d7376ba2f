package sourcekit

import "context"

// OwnEnd is a context that ends when ctx does, but has no deadline. With one, a read that is under way fails
// at that instant as if the server had not answered, and may do so before the context itself has ended: our
// own end would be reported as the server's failure. Without one the end is always seen first, and what is
// under way can be cut off after that.
func OwnEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return own, func() {
		stop()
		cancel(nil)
	}
}
