package widget

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/vt"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
)

// paint equals lipgloss's Render for the styles that we use.
func TestPaintIsRender(t *testing.T) {
	t.Parallel()
	for _, o := range []theme.Options{{}, {Light: true}, {NoColor: true}, {ASCII: true}} {
		th := theme.New(o)
		for _, s := range []lipgloss.Style{
			th.Text, th.Strong, th.Muted, th.Faint, th.Holding, th.Waiting, th.Critical, th.Warning, th.Info, th.Unknown, th.Free, th.Title,
			th.Header, th.Key, th.Badge, th.BadgeWarning, th.BadgeCritical, th.Selected(th.Holding), th.Fresh(th.Critical), th.Strong.Reverse(true),
		} {
			must.Equal(t, cells(t, paint(s, "ab c")), cells(t, s.Inline(true).Render("ab c")))
		}
	}
}

func TestWrapOfWideCharacters(t *testing.T) {
	t.Parallel()
	for width := -3; width <= 6; width++ {
		for _, text := range []string{"漢字漢字", "a漢b字c", "👩‍👩‍👧x👩‍👩‍👧", strings.Repeat("漢", 5_000)} {
			lines := Wrap(text, width, 8, "~")
			if len(lines) > 8 {
				t.Errorf("%d lines", len(lines))
			}
			if width < 2 {
				continue // no wide character fits
			}
			if whole := strings.Join(lines, ""); len(text) < 100 && len(lines) < 8 && whole != text {
				t.Errorf("width %d: %q became %q", width, text, lines)
			}
		}
	}
}

// cells are the text on a terminal, one cell after the other.
func cells(t *testing.T, text string) string {
	t.Helper()
	screen := vt.NewEmulator(5, 1)
	must.Have(screen.WriteString(text))(t)
	return screen.Render()
}
