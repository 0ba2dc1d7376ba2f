package connect

import "errors"

// Bounds of what one server may say. go-redis and go-zookeeper make room for as much as a server announces,
// before any of it has come: one header of a few bytes would end the whole program.
const (
	BoundReply   = 64 << 20 // bytes of one reply: the list of 100,000 clients takes 40 MB
	BoundItems   = 1 << 20  // items of one reply, nested ones included
	boundLine    = 64 << 10
	boundNesting = 16
)

// ErrNonsense is wrapped by the errors of connections that we closed because of invalid replies.
var ErrNonsense = errors.New("the server's answer is out of bounds")

// Nonsense is the end of a connection whose server said what no server says.
func Nonsense(what string) *RefusedError {
	return &RefusedError{Why: ErrNonsense.Error() + ": " + what, Err: ErrNonsense}
}
