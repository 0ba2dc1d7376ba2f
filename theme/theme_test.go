package theme

import (
	"reflect"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/must"
)

func TestGlyphsAreOneCellAndDiffer(t *testing.T) {
	for _, g := range []Glyphs{unicodeGlyphs(), asciiGlyphs()} {
		states := []string{g.Holding, g.Waiting, g.Pending, g.Critical, g.Warning, g.Free, g.Unknown}
		seen := make(map[string]bool)
		for _, s := range states {
			if ansi.StringWidth(s) != 1 || seen[s] {
				t.Errorf("%q is not one cell, or stands for two states", s)
			}
			seen[s] = true
		}
	}
	glyphs := asciiGlyphs()
	for _, v := range []reflect.Value{reflect.ValueOf(glyphs), reflect.ValueOf(glyphs.Lane)} {
		for i := range v.NumField() {
			if s, ok := v.Field(i).Interface().(string); ok && (s == "" || strings.TrimFunc(s, func(r rune) bool { return r > ' ' && r < 0x7f }) != "") {
				t.Errorf("%s is %q", v.Type().Field(i).Name, s)
			}
		}
	}
}

func TestNoColour(t *testing.T) {
	for _, o := range []Options{{NoColor: true}, {Profile: colorprofile.ASCII}, {Profile: colorprofile.NoTTY}} {
		th := New(o)
		for _, s := range []string{
			th.Holding.Render("x"), th.Critical.Render("x"), th.BadgeCritical.Render("x"), th.Selected(th.Waiting).Render("x"),
			th.Fresh(th.Holding).Render("x"), th.Faint.Render("x"),
		} {
			for _, colour := range []string{"[3", "[9", ";3", ";9", "[10", ";10"} {
				if strings.Contains(s, colour) {
					t.Errorf("%+v: %q has a colour", o, s)
				}
			}
		}
	}
}

// In every profile, light or dark, the two accents, the warning and the critical red are distinguished.
func TestAccentsDiffer(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.Unknown, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
		for i := range 2 * len(Names()) {
			name, light := Names()[i/2], i%2 > 0
			th := New(Options{Name: name, Profile: profile, Light: light})
			seen := make(map[string]bool)
			for _, s := range []string{th.Holding.Render("x"), th.Waiting.Render("x"), th.Warning.Render("x"), th.Critical.Render("x"), th.Unknown.Render("x")} {
				if seen[s] {
					t.Errorf("%s, profile %v, light %v: %q twice", name, profile, light, s)
				}
				seen[s] = true
			}
		}
	}
}

func TestBarIsProportional(t *testing.T) {
	th := New(Options{})
	for _, test := range []struct {
		n, most, width int
		want           string
	}{{0, 8, 8, ""}, {1, 100, 8, "▇"}, {4, 8, 8, "▇▇▇▇"}, {9, 8, 8, "▇▇▇▇▇▇▇▇"}, {1, 1, 0, ""}} {
		if got := th.Bar(test.n, test.most, test.width); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestGaugeRunsDown(t *testing.T) {
	for _, o := range []Options{{}, {NoColor: true}, {ASCII: true}} {
		th := New(o)
		for fraction := -0.5; fraction <= 1.5; fraction += 0.01 {
			full, rest := th.Gauge(fraction, 12)
			if w := ansi.StringWidth(full + rest); w != 12 {
				t.Fatalf("%+v %v: %d cells", o, fraction, w)
			}
		}
	}
	for fraction, want := range map[float64]string{0: "╌╌╌╌", 0.5: "━━╌╌", 0.6: "━━╸╌", 1: "━━━━"} {
		if full, rest := New(Options{}).Gauge(fraction, 4); full+rest != want {
			t.Errorf("%v is %q, want %q", fraction, full+rest, want)
		}
	}
	if full, rest := New(Options{ASCII: true}).Gauge(0.5, 4); full+rest != "==--" {
		t.Errorf("half in ASCII is %q", full+rest)
	}
}

func TestStylesRenderAsInLipgloss(t *testing.T) {
	red, blue := lipgloss.Color("1"), lipgloss.Color("#0000ff")
	for _, test := range []struct {
		ours   Style
		theirs lipgloss.Style
	}{
		{Style{}, lipgloss.NewStyle()},
		{Style{}.In(red), lipgloss.NewStyle().Foreground(red)},
		{Style{}.In(lipgloss.NoColor{}).Bold(), lipgloss.NewStyle().Bold(true)},
		{Style{}.On(blue).Reverse(), lipgloss.NewStyle().Background(blue).Reverse(true)},
		{Style{}.In(red).On(blue).Bold(), lipgloss.NewStyle().Foreground(red).Background(blue).Bold(true)},
		{Style{}.In(red).Inherit(Style{}.In(blue).On(blue).Bold()), lipgloss.NewStyle().Foreground(red).Background(blue).Bold(true)},
	} {
		must.Equal(t, test.ours.Render("held"), test.theirs.Render("held"))
	}
}

func TestSkinReplacesColours(t *testing.T) {
	s := must.Have(NewSkin(map[string]string{"holding": "#123456"}))(t)
	must.Equal(t, New(Options{Skin: s}).Holding.Foreground(), lipgloss.Color("#123456"))
	must.Equal(t, New(Options{Skin: s}).Waiting, New(Options{}).Waiting, "what the skin leaves out")
	for _, few := range []Options{{NoColor: true}, {Profile: colorprofile.ANSI}} { // these terminals keep the theme's colours
		skinned := few
		skinned.Skin = s
		must.Equal(t, New(skinned).Holding, New(few).Holding, few)
	}
	if len(SkinRoles()) != int(roles) {
		t.Errorf("%d names of %d roles", len(SkinRoles()), roles)
	}
	for colours, says := range map[[2]string]string{{"holdings", "#123456"}: "no role", {"holding", "red"}: "#rrggbb"} {
		if _, err := NewSkin(map[string]string{colours[0]: colours[1]}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", colours, err)
		}
	}
}

func TestSparksKeepSmallValuesVisible(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{}, " ▁▁▄██╌"}, {Options{ASCII: true}, " __=##:"},
	} {
		// A small value is not blank, a value above the maximum is full, and unknown differs from
		// zero.
		must.Equal(t, New(test.options).Sparks([]float64{0, 0.01, 1, 4, 8, 99, -1}, 8), test.want)
	}
	must.Equal(t, New(Options{}).Sparks([]float64{0, 3}, 0), "  ", "of nothing")
}

func TestPillarIsProportional(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{{0, "   "}, {0.001, "  ▁"}, {1, "  █"}, {1.5, " ▄█"}, {3, "███"}, {9, "███"}} {
		must.Equal(t, strings.Join(New(Options{}).Pillar(test.value, 3, 3), ""), test.want, test.value)
	}
}
