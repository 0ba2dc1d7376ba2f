package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestRandomChangeAffectsOnePlace(t *testing.T) {
	const before = `package p

func older(a, b int) (bool, error) {
	if a == 0 {
		return true, nil
	}
	return a < b, nil
}
`
	file := filepath.Join(t.TempDir(), "p.go")
	must.Succeed(t, os.WriteFile(file, []byte(before), 0o600))
	found := must.Have(findChanges([]string{file}))(t)
	var got []string
	for _, list := range found {
		for _, c := range list {
			m := must.Have(c.mutant("./p", limit))(t)
			got = append(got, strings.Join(strings.Fields(difference(m.old, m.new)), " "))
		}
	}
	for _, want := range []string{
		"- if a == 0 { + if a != 0 {",
		"- if a == 0 { + if !(a == 0) {",
		"- if a == 0 { + if a == (0+1) {",
		"- return true, nil + return false, nil",
		"- if a == 0 { - return true, nil - } +",
		"- return a < b, nil + return a <= b, nil",
		"- return a < b, nil + return *new(bool), nil",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(got, "\n"))
		}
	}
}
