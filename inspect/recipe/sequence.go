package recipe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sequenceDigits is the width of the number that ZooKeeper appends to a sequential node: %010d of an int32,
// the sign counted in (PrepRequestProcessor.pRequest2TxnCreate).
const sequenceDigits = 10

// parseSequence reads s as the whole suffix of a sequential node. It takes exactly what the server writes:
// ten digits, or after the counter wrapped a minus sign and nine or ten digits.
func parseSequence(s string) (int32, bool) {
	if len(s) < sequenceDigits || len(s) > sequenceDigits+1 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || fmt.Sprintf("%010d", n) != s {
		return 0, false
	}
	return int32(n), true
}

// SplitSequence cuts the sequence number off a name whose prefix is unknown. Only the last ten characters count,
// never all trailing digits: a prefix may end in digits itself (HBase puts a port there). A number is negative, as
// it is after the server's counter wrapped at 2147483647, when its sign is among those ten, when a minus sign ends
// the prefix twice ("lock--2147483648"), or when the number would not fit an int32 without its sign.
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

// Sort brings entries into queue order: by sequence number, allowing for the counter's wrap from 2147483647 to
// -2147483648, then writes before reads (a writer that reads may have its write's number again), then by name. The queue
// starts after the widest gap on the circle of 2^32 numbers, so that the order is total whatever a directory holds.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			cmp.Compare(uint32(a.Sequence), uint32(b.Sequence)),
			cmp.Compare(a.Mode, b.Mode),
			strings.Compare(a.Name, b.Name))
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
