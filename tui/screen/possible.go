package screen

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// Possible are connections to Redis that may be a contender's, the most likely first. None is certain: Redis
// keeps no author of a key.
type Possible struct {
	Connections []PossibleConnection
	// Of counts those that were listed; Unknown has the reason where some, or all, were not, and is empty else.
	Of      int
	Unknown string
}

// PossibleConnection is one of them, and the reasons to take it for the contender's, and not to. Its texts are escaped.
type PossibleConnection struct {
	Addr, Name   string
	For, Against []string
}

// mostPossible connections are shown of a contender.
const mostPossible = 2

// PossibleWords are lines about the connections that may be a contender's; none if they were not asked for.
func PossibleWords(host Context, l *inspect.Lock, c *inspect.Contender) []string {
	p, asked := host.Possible(l, c)
	if !asked {
		return nil
	}
	return p.words()
}

func (p Possible) words() []string {
	var lines []string
	for _, one := range p.Connections[:min(len(p.Connections), mostPossible)] {
		line := "may be " + one.Addr
		if one.Name != "" {
			line += " '" + one.Name + "'"
		}
		line += ": " + strings.Join(one.For, "; ")
		if len(one.Against) > 0 {
			line += "; but " + strings.Join(one.Against, "; ")
		}
		lines = append(lines, line)
	}
	more := len(p.Connections) - len(lines)
	switch {
	case len(lines) == 0 && p.Of > 0:
		lines = append(lines, fmt.Sprintf("none of %s resembles its own", describe.Count(p.Of, "connection")))
	case more > 0:
		lines = append(lines,
			fmt.Sprintf("or one of %d more: only candidates: Redis does not record who wrote a key", more))
	case len(lines) > 0:
		lines = append(lines, "only a candidate: Redis does not record who wrote a key")
	}
	if p.Unknown != "" {
		lines = append(lines, "its connection is unknown: "+p.Unknown)
	}
	return lines
}
