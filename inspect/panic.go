package inspect

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic of a source, a rule or the observer. It ends the observer, so that a screen can
// restore the terminal.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// recovered returns the panic of f as an error.
func recovered(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
	}()
	return f()
}
