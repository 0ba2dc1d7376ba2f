// Package must has one-line steps and checks for the tests of many packages. A failed step ends its
// test, a failed check does not.
package must

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limit bounds a wait on a busy machine.
const limit = time.Minute

// Succeed ends the test if a step that it depends on has failed.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Have returns the value of a step that must succeed: must.Have(os.ReadFile(name))(t).
func Have[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Succeed(t, err)
		return value
	}
}

// Become polls for up to a minute for a condition that no event reports.
func Become(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// Equal reports two values that differ, after a note that names them; the test goes on.
func Equal[T comparable](t testing.TB, got, want T, note ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s%s, want %s", about(note), shown(got), shown(want))
	}
}

// Same is Equal for lists.
func Same[T comparable](t testing.TB, got, want []T, note ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s%s, want %s", about(note), shown(got), shown(want))
	}
}

// Be reports an error that is not the wanted one, which may be nil; the test goes on.
func Be(t testing.TB, err, want error, note ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s%v, want %v", about(note), err, want)
	}
}

// Contain reports a text that lacks a part; the test goes on.
func Contain(t testing.TB, text, part string, note ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s%.2000s lacks %q", about(note), shown(text), part)
	}
}

// NoDiff reports a difference that cmp.Diff found; the test goes on.
func NoDiff(t testing.TB, diff string, note ...any) {
	t.Helper()
	if diff != "" {
		t.Errorf("%sdiffers:\n%s", about(note), diff)
	}
}

// True reports a condition that does not hold, in the words of its note; the test goes on.
func True(t testing.TB, holds bool, note ...any) {
	t.Helper()
	if !holds {
		t.Error(note...)
	}
}

// about puts a note before what it is about. A byte is shown as its character.
func about(note []any) string {
	if len(note) == 0 {
		return ""
	}
	for i, n := range note {
		if b, ok := n.(byte); ok {
			note[i] = string(rune(b))
		}
	}
	return strings.TrimSuffix(fmt.Sprintln(note...), "\n") + ": "
}

// shown quotes a text of one line.
func shown(value any) string {
	text := fmt.Sprintf("%+v", value)
	if reflect.ValueOf(value).Kind() == reflect.String && !strings.Contains(text, "\n") {
		return strconv.Quote(text)
	}
	return text
}
