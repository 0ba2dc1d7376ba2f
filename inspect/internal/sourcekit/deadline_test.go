package sourcekit

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestWithoutDeadlineFollowsParentWithoutDeadline(t *testing.T) {
	parent, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	own, cancel := WithoutDeadline(parent)
	defer cancel()
	if at, ok := own.Deadline(); ok {
		t.Errorf("a read would fail at %v, as if the server had not answered", at)
	}
	<-own.Done()
	if parent.Err() == nil || !errors.Is(context.Cause(own), context.DeadlineExceeded) {
		t.Errorf("it ended on its own: %v", context.Cause(own))
	}
	own, cancel = WithoutDeadline(t.Context())
	cancel()
	if <-own.Done(); own.Err() == nil || t.Context().Err() != nil {
		t.Error("cancel does not end it alone")
	}
}
