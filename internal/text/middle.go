package text

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Middle shortens text to at most that many cells. It keeps the start and the end, and puts tail
// between them. For a host with its port, it keeps the start and the port, since hosts often share
// a domain.
func Middle(text string, cells int, tail string) string {
	w := ansi.StringWidth(text)
	if w <= cells {
		return text
	}
	end := (cells - 1) * 2 / 3
	if port := portOf(text); port > 0 && port < end {
		end = port
	}
	return ansi.Truncate(text, cells-1-end, "") + tail + ansi.Cut(text, w-end, w)
}

// PathEnd shortens a path to at most that many cells. It keeps the end, in whole names unless that
// would leave less than half of the cells.
func PathEnd(path string, cells int, head string) string {
	w := ansi.StringWidth(path)
	if w <= cells {
		return path
	}
	end := ansi.Cut(path, w-(cells-1), w)
	if at := strings.IndexByte(end, '/'); at > 0 && 2*ansi.StringWidth(end[at:]) >= cells {
		end = end[at:]
	}
	return head + end
}

// portOf returns the length of a host's port with its colon; 0 without one.
func portOf(text string) int {
	at := strings.LastIndexByte(text, ':')
	digits := func(s string) bool { return strings.Trim(s, "0123456789.") == "" }
	if at < 0 || at == len(text)-1 || !digits(text[at:][1:]) {
		return 0
	}
	if host := text[:at]; !strings.Contains(host, ".") || digits(host) || strings.ContainsAny(host, "/:") {
		return 0
	}
	return len(text) - at
}

// WithoutDomain removes a domain, such as .example.com, from the host names in a text.
func WithoutDomain(text, domain string) string {
	if domain == "" {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, domain)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if after != "" && (after[0] == '.' || after[0] == '-' || alphanumeric(after[0])) { // a longer domain begins with it
			out.WriteString(domain)
		}
		text = after
	}
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
