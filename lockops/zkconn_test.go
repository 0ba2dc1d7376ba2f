package lockops

import (
	"errors"
	"io"
	"net"
	"testing"
)

// A request that could not be written, or not wholly, is asked for again, and a node whose removal could not
// be is not left there.
func TestUnwrittenRequestCountsAsLost(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	theirs.Close()
	_, err := wire{ours}.Write([]byte("request"))
	if !lostInTransit(err) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}
