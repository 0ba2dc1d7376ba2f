package node

import (
	"strings"
	"testing"
)

// Each letter is the server that a connection reached.
func TestServersThatTakeTurnsAreSeveral(t *testing.T) {
	for met, several := range map[string]bool{
		"aa": false, "ab": false, "aaabbb": false, "abc": false, // restarts and failovers
		"aba": true, "aabba": true, "abca": true, "abcb": true,
	} {
		var s servers
		for id := range strings.SplitSeq(met, "") {
			s.meet(id)
		}
		if s.several != several {
			t.Errorf("%s: several %v", met, s.several)
		}
	}
}
