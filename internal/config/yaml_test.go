package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestRefusesYAMLBombs(t *testing.T) {
	aliases := "a: &a [x, x]\n"
	for i := range 30 {
		aliases += fmt.Sprintf("b%d: &b%d [*a, *a]\n", i, i)
	}
	for name, text := range map[string]string{
		"brackets":            strings.Repeat("[", 100_000),
		"brackets on lines":   strings.Repeat("[\n", 100_000),
		"braces":              strings.Repeat("{a: ", 50_000),
		"entries on one line": strings.Repeat("- ", 100_000),
		"indentation":         "a:\n" + strings.Repeat(" ", 200) + "b: 1\n",
		"aliases of aliases":  aliases,
		"aliases":             "a: &a x\nb: [" + strings.Repeat("*a, ", 200) + "x]\n",
	} {
		var into map[string]any
		if err := Decode([]byte(text), &into); err == nil {
			t.Errorf("%s are accepted", name)
		}
	}
	large := secretFile(t, strings.Repeat("#\n", largestFile), 0o600)
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %v", err)
	}
	var into map[string]map[string]string
	if err := Decode([]byte("base: &b {x: y}\nc:\n  <<: *b\n  z: \"[[[\"\n"), &into); err != nil || into["c"]["x"] != "y" {
		t.Errorf("%v: %v", into, err)
	}
}
