package text

import "testing"

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		text  string
		cells int
		want  string
	}{
		{"zk:/locks/orders", 16, "zk:/locks/orders"},
		{"zk:/locks/orders", 10, "zk:…orders"},
		{"app-2.prod.acme.net:4005", 16, "app-2.prod…:4005"},
		{"app-2.prod.acme.net:4005", 12, "app-2.…:4005"},
		{"127.0.0.1:38022", 10, "127…:38022"},
		{"日本語のロック", 9, "日…ロック"},
	} {
		if got := Middle(tt.text, tt.cells, "…"); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.cells, got, tt.want)
		}
	}
}
