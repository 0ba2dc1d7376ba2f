package tui

import (
	"fmt"
	"testing"

	"lockscope/theme"
)

func TestTimelineGolden(t *testing.T) {
	for name, make := range map[string]func(*testing.T, Options, int, int) *play{"fair": fairPlay, "unfair": unfairPlay} {
		for _, size := range sizes {
			for _, ascii := range []bool{false, true} {
				file := fmt.Sprintf("timeline-%s-%dx%d", name, size.width, size.height)
				if ascii {
					file += "-ascii"
				}
				t.Run(file, func(t *testing.T) {
					m := make(t, Options{Title: "prod-eu", Theme: theme.Options{ASCII: ascii}}, size.width, size.height).timeline()
					fits(t, m)
					golden(t, file, content(m))
					if text := content(m); ascii && !isASCII(text) {
						t.Errorf("not ASCII:\n%s", text)
					}
				})
			}
		}
	}
}
