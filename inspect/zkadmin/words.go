package zkadmin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseCons reads lines such as
//
//	/127.0.0.1:35398[1](queued=0,recved=49,sent=50,sid=0x1000012e47a0000,lop=PING,est=1700000000000,to=40000,…)
//
// Lines without sid are connections without a session, such as our own.
func parseCons(text string) ([]Connection, error) {
	var list []Connection
	seen := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		address, fields, ok := strings.Cut(line, "](")
		open := strings.LastIndexByte(address, '[')
		if !ok || open < 0 || !strings.HasSuffix(fields, ")") {
			return nil, fmt.Errorf("%w: line %.100q", ErrSyntax, line)
		}
		seen = true
		c := Connection{Client: trimAddress(address[:open])}
		for field := range strings.SplitSeq(strings.TrimSuffix(fields, ")"), ",") {
			if err := c.set(field); err != nil {
				return nil, err
			}
		}
		if c.Session != 0 {
			list = append(list, c)
		}
	}
	// our own connection is always listed, and an empty line ends the answer
	if !seen || !strings.HasSuffix(text, "\n\n") {
		return nil, errCut
	}
	return list, nil
}

// errCut means that the connection ended in the middle of the answer.
var errCut = fmt.Errorf("%w: it is cut off", ErrSyntax)

func (c *Connection) set(field string) error {
	key, value, _ := strings.Cut(field, "=")
	switch key {
	case "sid":
		id, err := parseSession(value)
		if err != nil {
			return err
		}
		c.Session = id
	case "est":
		c.Established = instant(number(value))
	case "to":
		c.Timeout = millis(number(value))
	case "lresp":
		c.LastResponse = millis(number(value))
	}
	return nil
}

// parseWchp parses paths, each followed by one tab-indented session per watcher.
func parseWchp(text string) (map[string][]int64, error) {
	paths := map[string][]int64{}
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case strings.HasPrefix(line, "/"):
			path = line
		case strings.HasPrefix(line, "\t0x") && path != "":
			id, err := parseSession(line[1:])
			if err != nil {
				return nil, err
			}
			paths[path] = append(paths[path], id)
		default:
			return nil, fmt.Errorf("%w: line %.100q", ErrSyntax, line)
		}
	}
	if !strings.HasSuffix("\n"+text, "\n\n") {
		return nil, errCut
	}
	return paths, nil
}

// parseWchs parses "5 connections watching 11 paths" and "Total watches:12".
func parseWchs(text string) (WatchSummary, error) {
	var s WatchSummary
	if _, err := fmt.Sscanf(text, "%d connections watching %d paths\nTotal watches:%d", &s.Connections, &s.Paths, &s.Watches); err != nil || s.Watches < 0 {
		return WatchSummary{}, fmt.Errorf("%w: %.100q", ErrSyntax, text)
	}
	return s, nil
}

// parseSrvr parses "Zookeeper version: 3.8.0-…", "Zxid: 0x1a" and "Mode: standalone". "Node count:
// 5" marks a complete answer.
func parseSrvr(text string) (Status, error) {
	var s Status
	whole := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Zookeeper version":
			s.Version = cutVersion(value)
		case "Mode":
			s.Role = role(value)
		case "Zxid":
			s.Zxid, _ = strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		case "Node count":
			s.Nodes, _ = strconv.Atoi(value)
			s.Nodes, whole = max(0, s.Nodes), strings.HasSuffix(line, "\n")
		}
	}
	if s.Role == "" && s.Version == "" {
		return Status{}, fmt.Errorf("%w: %.100q", ErrSyntax, text)
	}
	if !whole {
		return Status{}, errCut
	}
	return s, nil
}

// parseUptime parses a line of "zk_uptime", a tab, and milliseconds; zero if none.
func parseUptime(text string) time.Duration {
	_, after, found := strings.Cut("\n"+text, "\nzk_uptime\t")
	value, _, whole := strings.Cut(after, "\n")
	if !found || !whole {
		return 0
	}
	return millis(number(value))
}

// parseSession parses 0x and the hex digits of the id, which may use all 64 bits.
func parseSession(s string) (int64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	id, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%w: %.40q is not a session", ErrSyntax, s)
	}
	return int64(id), nil
}

// number parses a decimal. Anything else is 0, which always means unknown here.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// millis converts milliseconds to a duration; 0 if they are negative or do not fit.
func millis(ms int64) time.Duration {
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// instant converts milliseconds since 1970 to a time; zero for none.
func instant(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// trimAddress drops the slash that Java puts before an address, and any name before the slash.
func trimAddress(s string) string {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[i+1:]
	}
	return s
}

// role accepts only known roles, since it is printed.
func role(s string) string {
	switch s {
	case "leader", "follower", "observer", "standalone", "read-only":
		return s
	}
	return ""
}

// cutVersion drops the build after the version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f,
// built on …
func cutVersion(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end >= 0 {
		s = s[:end]
	}
	return s[:min(len(s), 20)]
}
