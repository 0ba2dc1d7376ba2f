package recipe

import "testing"

func TestSomeValuesNameNobody(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "1": true, "-1": true, "1795317377.191": true, `"exclusive"`: true, "b:1;": true, "i:12;": true, "True": true,
		"worker-1": false, "10.0.0.7": false, "a": false, "b:x": false, "5f0c1d4ec6f511f0a1b23c5200aabbcc": false, "4711@web-1": false,
	} {
		if got := NamesNobody(value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
