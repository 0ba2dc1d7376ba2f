package theme

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Skin has the user's colours for roles of the palette, as #rrggbb; empty ones are the theme's.
type Skin [roles]string

// SkinRoles returns the names of the roles that a skin may colour.
func SkinRoles() []string {
	return []string{"muted", "faint", "holding", "waiting", "critical", "warning", "unknown", "badge", "selected", "changed", "badge_text"}
}

var hexColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// NewSkin makes a skin from colours by role. The error names an unknown role or an invalid colour.
func NewSkin(colours map[string]string) (Skin, error) {
	var s Skin
	for _, name := range slices.Sorted(maps.Keys(colours)) {
		at := slices.Index(SkinRoles(), name)
		if at < 0 {
			return Skin{}, fmt.Errorf("skin: no role %q (choose from: %s)", name, strings.Join(SkinRoles(), ", "))
		}
		if !hexColour.MatchString(colours[name]) {
			return Skin{}, fmt.Errorf("skin: %s: %q is not a colour (write #rrggbb)", name, colours[name])
		}
		s[at] = colours[name]
	}
	return s, nil
}
