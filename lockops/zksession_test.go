package lockops

import (
	"context"
	"errors"
	"testing"
)

// What was found out about one life of a session does not end the next, which may have begun meanwhile.
func TestALifeEndsForWhatIsItsOwn(t *testing.T) {
	s := &ZKSession{changed: make(chan struct{})}
	s.lapse(s.life, errExpired) // no session yet
	s.setLife(1, errExpired)
	first := s.life
	s.lapse(nil, errExpired) // found out before that
	if first.ctx.Err() != nil || s.life != first {
		t.Fatal("a life was ended for there having been none before")
	}
	s.setLife(2, errExpired)
	second := s.life
	s.lapse(first, errSilence)
	if second.ctx.Err() != nil || s.life != second {
		t.Fatal("a life was ended for the one before")
	}
	s.lapse(second, errSilence)
	if !errors.Is(context.Cause(second.ctx), errSilence) || s.life != nil {
		t.Errorf("%v", context.Cause(second.ctx))
	}
}
