package config

import (
	"os"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestAnUnattendedCommandHasNoTerminal(t *testing.T) {
	session := "[ $(cut -d' ' -f6 /proc/self/stat) = $$ ] && echo own || echo ours"
	account := Account{PasswordCommand: []string{"sh", "-c", session}}
	p := Profile{Targets: []Target{{URL: "redis://r1"}}, Account: account}
	for unattended, want := range map[bool]string{false: "ours", true: "own"} {
		targets := must.Have(p.Parsed())(t)
		from := From{Getenv: none, Stderr: os.Stderr, Within: time.Minute, Unattended: unattended}
		must.Succeed(t, p.Secrets(t.Context(), from, targets))
		must.Equal(t, string(targets[0].Secrets.Login.Password), want, "unattended", unattended, "password")
	}
}
