package lockops

import (
	"errors"
	"io"
	"net"
	"testing"
)

// A request that was not written completely is repeated, so that a failed delete request leaves no
// node.
func TestUnwrittenRequestCountsAsLost(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	theirs.Close()
	_, err := wire{ours}.Write([]byte("request"))
	if !lostInTransit(err) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want ErrClosedPipe that counts as lost", err)
	}
}
