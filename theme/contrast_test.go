package theme

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/lockscope/lockscope/internal/must"
)

// linear is a colour in linear light, each part 0 to 1.
type linear [3]float64

func linearOf(c color.Color) linear {
	r, g, b, _ := c.RGBA()
	var out linear
	for i, v := range []uint32{r, g, b} {
		if s := float64(v) / 0xffff; s <= 0.04045 {
			out[i] = s / 12.92
		} else {
			out[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast returns the WCAG 2 contrast ratio.
func contrast(a, b color.Color) float64 {
	light := func(c color.Color) float64 {
		l := linearOf(c)
		return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2] + 0.05
	}
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

// The matrices of Machado, Oliveira and Fernandes (2009) for the complete loss of one type of cone.
var sights = map[string][3][3]float64{
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
}

// lab returns a colour in CIELAB as a person with that sight sees it.
func lab(c color.Color, sight [3][3]float64) [3]float64 {
	from := linearOf(c)
	var l linear
	for i, row := range sight {
		l[i] = min(1, max(0, row[0]*from[0]+row[1]*from[1]+row[2]*from[2]))
	}
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*l[0] + 0.3576*l[1] + 0.1805*l[2]) / 0.95047)
	y := f(0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2])
	z := f((0.0193*l[0] + 0.1192*l[1] + 0.9505*l[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func distance(a, b color.Color, sight [3][3]float64) float64 {
	sum := 0.0
	p, q := lab(a, sight), lab(b, sight)
	for i := range p {
		sum += (p[i] - q[i]) * (p[i] - q[i])
	}
	return math.Sqrt(sum)
}

// texts returns the styles of text to read.
func texts(t *Theme) map[string]Style {
	return map[string]Style{
		"muted": t.Muted, "holding": t.Holding, "waiting": t.Waiting, "critical": t.Critical, "warning": t.Warning, "info": t.Info,
		"unknown": t.Unknown, "free": t.Free, "title": t.Title, "header": t.Header,
	}
}

// All text is legible: on the background that the theme is made for, on black or white, on the
// selected row, on a fresh row and on a badge.
func TestAllTextIsLegible(t *testing.T) {
	for _, name := range Names() {
		for _, light := range []bool{false, true} {
			for profile, slack := range map[colorprofile.Profile]float64{colorprofile.TrueColor: 0, colorprofile.ANSI256: 0.3} {
				th := New(Options{Name: name, Light: light, Profile: profile})
				least := 4.5 - slack
				if name == HighContrast {
					least = 7 - slack
				}
				papers := map[string]color.Color{"black": lipgloss.Color("#000000"), "dark": lipgloss.Color("#282c34")}
				if th.Options.onLight() {
					papers = map[string]color.Color{"white": lipgloss.Color("#ffffff"), "light": lipgloss.Color("#f5f5f5")}
				}
				what := fmt.Sprintf("%s, light %v, %v", name, light, profile)
				check := func(s Style, paper color.Color, where string, least float64) {
					t.Helper()
					if c := contrast(s.Foreground(), paper); c < least {
						t.Errorf("%s: %s has a contrast of %.1f", what, where, c)
					}
				}
				for role, style := range texts(th) {
					for paper, c := range papers {
						check(style, c, role+" on "+paper, least)
					}
					selected := th.Selected(style)
					check(selected, selected.Background(), role+" selected", least)
					if fresh := th.Fresh(style); fresh.Background() != (lipgloss.NoColor{}) {
						check(fresh, fresh.Background(), role+" fresh", least)
					}
				}
				for i, badge := range []Style{th.Badge, th.BadgeWarning, th.BadgeCritical} {
					check(badge, badge.Background(), fmt.Sprint("badge ", i), least)
				}
				if name == HighContrast {
					for paper, c := range papers {
						check(th.Faint, c, "faint on "+paper, 3)
					}
				}
			}
		}
	}
}

// With 16 colours the actual colours are unknown; these are the most common palettes.
func TestContrastOf16(t *testing.T) {
	for name, colours := range map[string][]string{
		"xterm": {
			"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
			"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
		},
		"VGA": {
			"#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aa00aa", "#00aaaa", "#aaaaaa",
			"#555555", "#ff5555", "#55ff55", "#ffff55", "#5555ff", "#ff55ff", "#55ffff", "#ffffff",
		},
		"Tango": {
			"#000000", "#cc0000", "#4e9a06", "#c4a000", "#3465a4", "#75507b", "#06989a", "#d3d7cf",
			"#555753", "#ef2929", "#8ae234", "#fce94f", "#729fcf", "#ad7fa8", "#34e2e2", "#eeeeec",
		},
	} {
		of := func(c color.Color, own string) color.Color {
			for i, hex := range colours {
				if c == lipgloss.Color(strconv.Itoa(i)) {
					return lipgloss.Color(hex)
				}
			}
			return lipgloss.Color(own)
		}
		for _, theme := range []string{Dark, Light, ColourBlind} {
			th := New(Options{Name: theme, Profile: colorprofile.ANSI})
			paper, ink := "#000000", "#ffffff"
			if th.Options.onLight() {
				paper, ink = ink, paper
			}
			for role, style := range texts(th) {
				for _, s := range []Style{style, th.Selected(style), th.Badge, th.BadgeWarning, th.BadgeCritical} {
					if c := contrast(of(s.Foreground(), ink), of(s.Background(), paper)); c < 3.9 {
						t.Errorf("%s, %s: %s has a contrast of %.1f", name, theme, role, c)
					}
				}
			}
		}
	}
}

func TestStatesDifferForColourBlind(t *testing.T) {
	least := func(o Options) float64 {
		th := New(o)
		accents := []Style{th.Holding, th.Waiting, th.Warning, th.Critical, th.Unknown}
		nearest := math.Inf(1)
		for _, sight := range sights {
			for i, a := range accents {
				for _, b := range accents[:i] {
					nearest = min(nearest, distance(a.Foreground(), b.Foreground(), sight))
				}
			}
		}
		return nearest
	}
	for _, light := range []bool{false, true} {
		if d := least(Options{Name: ColourBlind, Light: light}); d < 20 {
			t.Errorf("light %v: two states are %.1f apart", light, d)
		}
		if d := least(Options{Name: ColourBlind, Light: light, Profile: colorprofile.ANSI256}); d < 15 {
			t.Errorf("light %v, 256 colours: two states are %.1f apart", light, d)
		}
		if d := least(Options{Light: light}); d > 10 {
			t.Errorf("light %v: the usual theme would do as well: %.1f", light, d)
		}
	}
}

func TestNextVisitsEveryTheme(t *testing.T) {
	o := Options{}
	var seen []string
	for range Names() {
		o = o.Next()
		seen = append(seen, o.Name)
	}
	must.Same(t, seen, []string{Dark, Light, HighContrast, ColourBlind, Auto}, "after each other")
	must.Equal(t, New(Options{Name: "nope"}).Options.Name, Auto, "an unknown name is")
}

// A theme for the opposite of the terminal's background sets its own, if the terminal allows that.
func TestOppositeThemePaintsTheWindow(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want bool
	}{
		{Options{Name: Light, BackgroundKnown: true}, true},
		{Options{Name: Dark, BackgroundKnown: true, Light: true}, true},
		{Options{Name: Light, BackgroundKnown: true, Light: true}, false},
		{Options{Name: Light}, false},
		{Options{Name: Auto, BackgroundKnown: true, Light: true}, false},
		{Options{Name: HighContrast, BackgroundKnown: true, Light: true}, false},
		{Options{Name: Light, BackgroundKnown: true, NoColor: true}, false},
		{Options{Name: Light, BackgroundKnown: true, Profile: colorprofile.ANSI}, false},
	} {
		th := New(test.o)
		if painted := th.Paper != nil; painted != test.want || painted && contrast(th.Paper, th.Ink) < 10 {
			t.Errorf("%+v: %v on %v", test.o, th.Ink, th.Paper)
		}
		if s := th.Selected(th.Text); test.want && contrast(s.Foreground(), s.Background()) < 7 {
			t.Errorf("%+v: selected text is %v on %v", test.o, s.Foreground(), s.Background())
		}
	}
}
