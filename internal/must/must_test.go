package must

import (
	"fmt"
	"io"
	"slices"
	"testing"
)

// recorder is a testing.TB that records its failures.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Error(args ...any)                 { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func TestFailuresNameTheProblem(t *testing.T) {
	type name string
	for want, check := range map[string]func(r *recorder){
		`a 1: "x", want "y"`:    func(r *recorder) { Equal(r, name("x"), "y", "a", 1) },
		"x\ny, want {A:1}":      func(r *recorder) { Equal[any](r, "x\ny", struct{ A int }{1}) },
		"list: [a], want [b]":   func(r *recorder) { Same(r, []string{"a"}, []string{"b"}, "list") },
		"<nil>, want EOF":       func(r *recorder) { Be(r, nil, io.EOF) },
		"read: EOF, want <nil>": func(r *recorder) { Be(r, io.EOF, nil, "read") },
		`"abc" lacks "d"`:       func(r *recorder) { Contain(r, "abc", "d") },
		"none came":             func(r *recorder) { True(r, false, "none came") },
		"EOF":                   func(r *recorder) { Have(0, io.EOF)(r) },
	} {
		r := &recorder{}
		if check(r); !slices.Equal(r.said, []string{want}) {
			t.Errorf("reported %q, want %q", r.said, want)
		}
	}
	r := &recorder{}
	Equal(r, 1, 1)
	Same(r, nil, []int{})
	Be(r, fmt.Errorf("read: %w", io.EOF), io.EOF)
	Be(r, nil, nil)
	Contain(r, "abc", "b")
	True(r, true, "wrong")
	Succeed(r, nil)
	if len(r.said) > 0 {
		t.Errorf("reported %q about correct values", r.said)
	}
}
