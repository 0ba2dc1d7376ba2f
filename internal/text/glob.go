package text

// Glob reports whether a SCAN pattern matches a key, as Redis does (util.c stringmatchlen). * matches any bytes,
// ? any byte, [a-c^] and [^a] a class, a backslash the next byte. It backtracks over one star at most.
func Glob(pattern, key string) bool {
	p, k := 0, 0
	star, mark := -1, 0
	for k < len(key) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, k
			p++
			continue
		}
		if p < len(pattern) {
			if size, ok := globOne(pattern[p:], key[k]); ok {
				p += size
				k++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, k = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globOne matches one byte against the first element of a pattern, and returns the length of that element.
func globOne(p string, c byte) (size int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return globClass(p, c)
	case '\\':
		if len(p) > 1 {
			return 2, p[1] == c
		}
	}
	return 1, p[0] == c
}

// globClass matches one byte against the class at the beginning of a pattern, and returns the length of that class.
func globClass(p string, c byte) (size int, ok bool) {
	i := 1
	not := i < len(p) && p[i] == '^'
	if not {
		i++
	}
	found := false
	for ; i < len(p) && p[i] != ']'; i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			found = found || p[i] == c
		case i+2 < len(p) && p[i+1] == '-':
			low, high := min(p[i], p[i+2]), max(p[i], p[i+2])
			found = found || low <= c && c <= high
			i += 2
		default:
			found = found || p[i] == c
		}
	}
	if i < len(p) {
		i++ // the bracket that closes the class; without one it ends with the pattern
	}
	return i, found != not
}
