package lockopstest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/lockopstest"
)

// A test checks that the program stops when it loses the lock.
func Example() {
	l := lockopstest.New("orders")
	err := lockops.Do(context.Background(), l, func(ctx context.Context) error {
		l.Lose(errors.New("the session expired"))
		<-ctx.Done() // the guarded work has to stop now
		return nil
	})
	fmt.Println(errors.Is(err, lockops.ErrLost), err)
	// Output: true orders: lock was lost: the session expired
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lockopstest.New("l")
		first := must.Have(l.TryAcquire(t.Context()))(t)
		if _, err := l.TryAcquire(t.Context()); !errors.Is(err, lockops.ErrHeld) {
			t.Errorf("a second try: %v", err)
		}
		var order []int
		for i := range 3 {
			go func() {
				if h, err := l.Acquire(t.Context()); err == nil {
					order = append(order, i)
					_ = h.Release(t.Context())
				}
			}()
			synctest.Wait()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(short); !errors.Is(err, lockops.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that ended: %v", err)
		}
		must.Be(t, first.Release(t.Context()), nil)
		synctest.Wait()
		must.Equal(t, fmt.Sprint(order), "[0 1 2]", "granted to")
	})
}

func TestLostLockStaysHeldUntilFree(t *testing.T) {
	l := lockopstest.New("l")
	h := must.Have(l.Acquire(t.Context()))(t)
	l.Lose(errors.New("deleted"))
	must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "the hold ended with")
	must.Be(t, h.Release(t.Context()), lockops.ErrLost, "released")
	if _, err := l.TryAcquire(t.Context()); !errors.Is(err, lockops.ErrHeld) {
		t.Errorf("before Free: %v", err)
	}
	l.Free()
	again := must.Have(l.TryAcquire(t.Context()))(t)
	if first, _ := h.Token(); first != 1 {
		t.Errorf("the first token is %d", first)
	}
	if second, _ := again.Token(); second != 2 {
		t.Errorf("the second token is %d", second)
	}
}

func TestRefusalReachesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lockopstest.New("l")
		h := must.Have(l.Acquire(t.Context()))(t)
		var waited error
		go func() { _, waited = l.Acquire(t.Context()) }()
		synctest.Wait()
		l.Refuse(lockops.ErrClosed)
		synctest.Wait()
		must.Be(t, waited, lockops.ErrClosed, "the waiter got")
		l.Refuse(nil)
		must.Be(t, h.Release(t.Context()), nil)
		if _, err := l.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDoReportsALossOnce(t *testing.T) {
	l := lockopstest.New("l")
	err := lockops.Do(t.Context(), l, func(ctx context.Context) error {
		l.Lose(errors.New("the session expired"))
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, lockops.ErrLost) || strings.Count(err.Error(), "expired") != 1 {
		t.Errorf("%v, want the loss once", err)
	}
}
