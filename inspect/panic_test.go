package inspect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

type panicking struct{ Source }

func (panicking) Run(context.Context, func(Update)) error {
	panic("assignment to entry in nil map")
}

// A source's panic becomes an error with its stack, so that the screen can restore the terminal.
func TestSourcePanicBecomesAnError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := NewObserver(time.Now, panicking{}, script{}).Run(ctx) // the other source never ends by itself
	var panicked *PanicError
	must.True(t, errors.As(err, &panicked), err)
	must.Contain(t, err.Error(), "nil map")
	must.Contain(t, err.Error(), "panic_test.go")
	must.Be(t, ctx.Err(), nil, "Run continued until the timeout")
}
