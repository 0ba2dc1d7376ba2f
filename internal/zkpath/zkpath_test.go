package zkpath

import (
	"strings"
	"testing"
)

func TestInvalidPathsAreRefused(t *testing.T) {
	t.Parallel()
	for path, why := range map[string]string{
		"": "begin with a slash", "locks/a": "begin with a slash", "/a/": "ends in a slash", "//": "ends in a slash",
		"/a//b": "empty name", "/./a": "relative name .", "/a/..": "relative name ..",
		"/a\x1bb": `\u{1b}`, "/a\x00": `\u{0}`, "/a\x7f": `\u{7f}`, "/a\u009f": `\u{9f}`, "/a\ue000": `\u{e000}`, "/\uf8ff": `\u{f8ff}`,
		"/a\ufff0": "character", "/a\ufffd": "character", "/a\xff": `\xff`, "/a\U0001f512": "character", "/\xed\xa0\x80": `\xed`,
	} {
		if err := Check(path); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", path, err, why)
		}
	}
	for _, path := range []string{"/", "/a", "/locks/a b", "/a.b/...", "/日本", "/a\\b", "/a\u00a0", "/\uf900"} {
		if err := Check(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}
