package theme

import (
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
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
