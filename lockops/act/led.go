package act

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/lockscope/lockscope/inspect"
)

// Led returns the leaders that an audit file shows as forced out although they still lead.
// Unreadable lines are left out: ReadTrail reports them.
func Led(path string) []inspect.Led {
	f, err := openTrail(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []inspect.Led
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxAuditLine)
	for lines.Scan() {
		if former, ok := ledBy(lines.Bytes()); ok {
			list = append(list, former)
		}
	}
	return list
}

// ledBy reads a line of the audit file; few are about a leader.
func ledBy(text []byte) (former inspect.Led, ok bool) {
	var l line
	if !bytes.Contains(text, []byte(`"two_leaders":true`)) || json.Unmarshal(text, &l) != nil || !l.TwoLeaders {
		return former, false
	}
	id, err := inspect.ParseID(l.Lock)
	session, wrong := strconv.ParseUint(l.Owner.Session, 0, 64)
	name, unreadable := inspect.Unescape(l.Owner.Name)
	if err != nil || wrong != nil || unreadable != nil || l.Released == nil || !*l.Released {
		return former, false
	}
	return inspect.Led{Lock: id, Name: inspect.Untrusted(name), Session: int64(session), At: l.At}, true
}
