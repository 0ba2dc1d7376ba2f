package recipe

import (
	"slices"
	"testing"
)

// A Spring registry's channel begins with its name, which may end at any colon of the key. Libraries
// that do not publish have no channel.
func TestChannelsOfPlainStrings(t *testing.T) {
	const random = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
	for _, tt := range []struct {
		key, value, message string
		channels            []string
	}{
		{"my-lock:a", random, "my-lock:a", []string{"my-lock-channel:my-lock:a"}},
		{"app:lock:a", random, "app:lock:a", []string{"app-channel:app:lock:a", "app:lock-channel:app:lock:a"}},
		{"1:2:3:4:5:6:7:8:9:10", random, "1:2:3:4:5:6:7:8:9:10", []string{
			"1-channel:1:2:3:4:5:6:7:8:9:10", "1:2-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4-channel:1:2:3:4:5:6:7:8:9:10",
			"1:2:3:4:5-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6:7-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6:7:8-channel:1:2:3:4:5:6:7:8:9:10",
		}},
		{"lock:a", LockscopeToken([16]byte{}, "me"), "", []string{"lockscope:wake:lock:a"}},
		{"redlock:a", random, "", nil},
		{"lock:a", "Y2NjY2NjY2NjY2NjY2NjYw==", "", nil},
	} {
		if channels, message := Wakes(tt.key, tt.value); message != tt.message || !slices.Equal(channels, tt.channels) {
			t.Errorf("%s %s: %q on %q", tt.key, tt.value, message, channels)
		}
	}
}
