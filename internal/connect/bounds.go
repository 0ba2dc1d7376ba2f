package connect

import "errors"

// Bounds of a server's replies. go-redis and go-zookeeper allocate the size that a server announces
// before any data arrives, so a header of a few bytes could crash the program.
const (
	BoundReply   = 64 << 20 // bytes of one reply: the list of 100,000 clients takes 40 MB
	BoundItems   = 1 << 20  // items of one reply, nested ones included
	boundLine    = 64 << 10
	boundNesting = 16
)

// ErrNonsense is wrapped by the errors of connections that we closed because of invalid replies.
var ErrNonsense = errors.New("the server's answer is out of bounds")

// Nonsense returns the error for a connection whose server sent an invalid reply.
func Nonsense(what string) *RefusedError {
	return &RefusedError{Why: ErrNonsense.Error() + ": " + what, Err: ErrNonsense}
}
