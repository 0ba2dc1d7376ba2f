// Package must has the steps on which tests of many packages rest, a line each.
package must

import (
	"testing"
	"time"
)

// limit of a wait, for a machine with much else to do.
const limit = time.Minute

// Succeed ends the test when a step that it rests on has failed.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Have is the value of a step that must succeed: must.Have(os.ReadFile(name))(t).
func Have[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Succeed(t, err)
		return value
	}
}

// Become waits for what no event reports: it asks again and again, for a minute.
func Become(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
