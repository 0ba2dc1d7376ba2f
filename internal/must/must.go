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

// Become waits for what no event reports: it asks again and again, for a minute.
func Become(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
