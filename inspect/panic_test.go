package inspect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

type panicking struct{ inspect.Source }

func (panicking) Run(context.Context, func(inspect.Update)) error {
	panic("assignment to entry in nil map")
}

type patient struct{ inspect.Source }

func (patient) Run(ctx context.Context, emit func(inspect.Update)) error {
	emit(inspect.Update{Backend: &inspect.Backend{Name: "b"}})
	<-ctx.Done()
	return ctx.Err()
}

// A source's panic becomes an error with its stack, so that the screen can restore the terminal.
func TestSourcePanicBecomesAnError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := inspect.NewObserver(time.Now, panicking{}, patient{}).Run(ctx)
	var panicked *inspect.PanicError
	if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "nil map") || !strings.Contains(err.Error(), "panic_test.go") {
		t.Errorf("%v", err)
	}
	must.True(t, ctx.Err() == nil, "Run continued until the timeout")
}
