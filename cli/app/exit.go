package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// The exit codes of the contract. COMMAND's own code is passed on by acquire.
const (
	ExitNo          = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	ExitLost        = 4
	ExitInterrupted = 130
)

// ExitError ends the program with a code. Err is nil if the reason was already printed.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e ExitError) Unwrap() error { return e.Err }

// Exitf returns an error that ends the program with a code.
func Exitf(code int, format string, args ...any) error {
	return ExitError{code, fmt.Errorf(format, args...)}
}

// Usagef returns an error about bad use of a command.
func Usagef(format string, args ...any) error { return Exitf(ExitUsage, format, args...) }

// ExitCode returns the contract's code for an error. An error without a code is a failure to look
// or act, unless it is about bad use.
func ExitCode(err error) int {
	if e, ok := errors.AsType[ExitError](err); ok {
		return e.Code
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, connect.ErrTarget), errors.Is(err, inspect.ErrSyntax), errors.Is(err, config.ErrInvalid):
		return ExitUsage
	default:
		return ExitUnreachable
	}
}

// inWords removes a script's digest and line from an error's text, and rewords Go's deadline error.
func inWords(text string) string {
	return strings.ReplaceAll(redisreply.WithoutScript(text), context.DeadlineExceeded.Error(), "timed out")
}

// withCheck adds advice to the errors of servers, which are separated by semicolons. It says what
// to check if a server cannot be reached, or what to do about its reply.
func withCheck(text string) string {
	parts := strings.Split(text, "; ")
	last := len(parts) - 1
	for i, part := range parts {
		if _, do := redisreply.Advice(part); do != "" && !strings.HasSuffix(part, ")") {
			parts[i] += " (" + do + ")"
		} else if i == last {
			parts[i] = withAddressCheck(part)
		}
	}
	return strings.Join(parts, "; ")
}

func withAddressCheck(text string) string {
	if strings.HasSuffix(text, ")") || strings.Contains(text, ": ERR ") {
		return text
	}
	return text + " (check the address, and that the server is running)"
}

// Complain prints one line on standard error.
func (a *App) Complain(err error) {
	text := inWords(err.Error())
	if ExitCode(err) == ExitUnreachable && connect.Unreachable(err) {
		text = withCheck(text)
	}
	a.Say("%s", strings.ReplaceAll(text, "\n", "; "))
}
