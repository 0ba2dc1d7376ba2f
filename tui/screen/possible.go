package screen

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// Possible lists Redis connections that may be a contender's, the most likely first. None is
// certain, since Redis does not record who wrote a key.
type Possible struct {
	Connections []PossibleConnection
	// Of counts the listed connections. Unknown is the reason why some or all are missing, else
	// empty.
	Of      int
	Unknown string
}

// PossibleConnection is one of them, with the reasons for and against. Its texts are escaped.
type PossibleConnection struct {
	Addr, Name   string
	For, Against []string
}

// mostPossible limits the connections shown for a contender.
const mostPossible = 2

// PossibleWords describe the connections that may be a contender's; none if they were not
// requested.
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
		lines = append(lines, fmt.Sprintf("no candidate among %s", describe.Count(p.Of, "connection")))
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
