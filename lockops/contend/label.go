package contend

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// labelOf returns the given label, or a unique one if it is empty.
func labelOf(label string) string {
	if label != "" {
		return label
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return "contend-" + hex.EncodeToString(random[:])
}

// labelled returns a contender's label.
func labelled(label string, contender int) string { return fmt.Sprintf("%s#%d", label, contender+1) }
