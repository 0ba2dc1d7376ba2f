package app

import (
	"strings"
	"testing"
)

func TestMutesNeedAHomeDirectory(t *testing.T) {
	t.Setenv("HOME", "")
	var said strings.Builder
	a := &App{Environment: Environment{Stderr: &said, Getenv: func(string) string { return "" }}}
	if mutes := a.Mutes(Setup{}); len(mutes) > 0 || said.Len() > 0 {
		t.Errorf("%v, %q", mutes, said.String())
	}
}

func TestLongMessagesAreTruncated(t *testing.T) {
	var said strings.Builder
	a := &App{Environment: Environment{Stderr: &said}}
	if a.Say("%s", strings.Repeat("x", 1<<20)); said.Len() > 2*mostSaid {
		t.Errorf("a line of %d bytes", said.Len())
	}
}
