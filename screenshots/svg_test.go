package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
)

func TestScreenIsDrawnAsSVG(t *testing.T) {
	term := &terminal{window: dark(), screen: vt.NewEmulator(20, 2)}
	term.screen.WriteString("a<\x1b[1;38;2;255;0;0mR\x1b[0m\x1b[7mv\x1b[0m\x1b[2mf\x1b[0m\x1b[4mu\x1b[0m█\x1b[48;2;0;0;255m  \x1b[0m世")
	out := term.svg("a & b")
	for _, want := range []string{
		"a &amp; b", "&lt;",
		`fill="#ff0000" font-weight="bold">R<`,
		`fill="#161a21">v<`, // reverse: the paper's colour
		`<rect x="27" y="0" width="9" height="20" fill="#d7dbe2"/>`,
		`fill="#767a81">f<`,
		`<rect x="45" y="17" width="9" height="1" fill="#d7dbe2"/>`, // underline
		`<rect x="54" y="0" width="9" height="20" fill="#d7dbe2"/>`, // a full block
		`<rect x="63" y="0" width="18" height="20" fill="#0000ff"/>`,
		`<text x="81" y="15" fill="#d7dbe2">世<`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if err := xml.Unmarshal(out, new(struct{})); err != nil {
		t.Error(err)
	}
}

func TestPictureNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range pictures() {
		if seen[p.name] || p.name == "" || p.about == "" || len(p.steps) == 0 {
			t.Errorf("%+v", p)
		}
		seen[p.name] = true
	}
	if _, err := choose(pictures(), []string{"locks", "nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown picture: %v", err)
	}
}
