package describe

import (
	"testing"

	"lockscope/inspect"
)

// A command says itself whether it removes one that waits: a contender can be called whatever its program likes.
func TestWhatAContenderIsCalledAllowsNothing(t *testing.T) {
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	for _, name := range []inspect.Untrusted{"a", "a --waiter b", "--waiter", "it's --waiter 'x'", "a --owner b --waiter"} {
		c := &inspect.Contender{Name: name}
		for _, waiter := range []bool{true, false} {
			words := "do: " + Release(id, "redis://h", name, "", waiter) + "."
			if !NamesOwner(words, c) || AllowsWaiter(words, c) != waiter {
				t.Errorf("%s: names it %v, allows one that waits %v", words, NamesOwner(words, c), AllowsWaiter(words, c))
			}
		}
	}
}
