package config

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestOwnerCommandIsCompleteAndSafe(t *testing.T) {
	known := map[string]string{"host": "10.0.0.7", "pid": "4711", "client": "10.0.0.7:50112", "label": "worker 1", "thread": "-oProxyCommand=x"}
	for _, tt := range []struct {
		template OwnerCommand
		pid      string
		want     string
	}{
		{"ssh {host} jstack {pid}", "4711", "ssh 10.0.0.7 jstack 4711"},
		{"ss -tnp src {client}", "", "ss -tnp src 10.0.0.7:50112"},
		{"ssh {host} jstack {pid}", "", ""},          // unknown pid
		{"ssh {host} jstack {pid}", "1; reboot", ""}, // would run in the second shell even if quoted
		{"ssh {host} jstack {pid}", "$(reboot)", ""},
		{"ssh {host} jstack {pid}", "1\n2", ""},
		{"ssh {host} jstack {pid}", "1\u202e2", ""},
		{"ssh {thread}", "", ""}, // would be an option
		{"grep {label}", "", ""},
		{"", "4711", ""},
	} {
		known["pid"] = tt.pid
		if got, ok := tt.template.Fill(known); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%q with pid %q: %q, %v; want %q", tt.template, tt.pid, got, ok, tt.want)
		}
	}
}

func TestOwnerCommandIsChecked(t *testing.T) {
	for template, says := range map[OwnerCommand]string{"ssh {hots}": "{hots}", "a\nb": "second line", "x {}": "{}"} {
		if err := template.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", template, err)
		}
	}
	must.Be(t, OwnerCommand("ssh {host} jstack {pid} # {library_id}").check(), nil)
}
