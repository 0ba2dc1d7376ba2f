package recipe

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// sequenceDigits is the width of the number that ZooKeeper appends to a sequential node: %010d of
// an int32, including the sign (PrepRequestProcessor.pRequest2TxnCreate).
const sequenceDigits = 10

// parseSequence reads s as the whole suffix of a sequential node. It accepts exactly what the
// server writes: ten digits or, after the counter has wrapped, a minus sign and nine or ten digits.
// It is called for every name in a queue.
func parseSequence(s string) (int32, bool) {
	digits, most := s, int64(math.MaxInt32)
	negative := s != "" && s[0] == '-'
	if negative {
		digits, most = s[1:], -math.MinInt32
	}
	var n int64
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' || i == sequenceDigits {
			return 0, false
		}
		n = 10*n + int64(digits[i]-'0')
	}
	switch {
	case n > most:
		return 0, false
	case !negative:
		return int32(n), len(s) == sequenceDigits
	}
	// The sign takes the place of a zero: nine digits, or ten without one in front.
	return int32(-n), n > 0 && (len(s) == sequenceDigits || len(s) == sequenceDigits+1 && digits[0] != '0')
}

// SplitSequence cuts the sequence number off a name whose prefix is unknown. Only the last ten
// characters count, never all trailing digits: a prefix may end in digits itself (HBase puts a port
// there). Numbers are negative after the server's counter has wrapped at 2147483647. A number is
// read as negative if its sign is among those ten, or if two minus signs precede it
// ("lock--2147483648"). It is also negative if it would not fit an int32 without its sign.
func SplitSequence(name string) (prefix string, seq int32, ok bool) {
	cut := len(name) - sequenceDigits
	if cut < 0 {
		return "", 0, false
	}
	if cut > 0 && name[cut-1] == '-' && (cut > 1 && name[cut-2] == '-' || name[cut:] > "2147483647") {
		if n, ok := parseSequence(name[cut-1:]); ok {
			return name[:cut-1], n, true
		}
	}
	n, ok := parseSequence(name[cut:])
	return name[:cut], n, ok
}

// Sort brings entries into queue order. It compares sequence numbers, allowing for the counter's
// wrap from 2147483647 to -2147483648. Equal numbers go by czxid, since a server repeats a
// counter's last number. Where that is unknown, writes go before reads, since a writer that reads
// may have its write's number again. Finally, names decide. The queue starts after the widest gap
// on the circle of 2^32 numbers, so the order is total whatever a directory holds.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Sequence != b.Sequence { // nearly always, so names are rarely compared
			return cmp.Compare(uint32(a.Sequence), uint32(b.Sequence))
		}
		return cmp.Or(cmp.Compare(uint64(a.Czxid-1), uint64(b.Czxid-1)), // the unknown last
			cmp.Compare(a.Mode, b.Mode), strings.Compare(a.Name, b.Name))
	})
	if len(entries) < 2 {
		return
	}
	first, widest := 0, uint32(entries[0].Sequence)-uint32(entries[len(entries)-1].Sequence)
	for i := 1; i < len(entries); i++ {
		if gap := uint32(entries[i].Sequence) - uint32(entries[i-1].Sequence); gap > widest {
			first, widest = i, gap
		}
	}
	if first > 0 {
		rotated := slices.Concat(entries[first:], entries[:first])
		copy(entries, rotated)
	}
}
