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
		{"日本語のロック", 9, "日…ロック"},
	} {
		if got := Middle(tt.text, tt.cells, "…"); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.cells, got, tt.want)
		}
	}
}
