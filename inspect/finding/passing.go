package finding

// Passing says that what a rule finds can be what a single look saw halfway: an acquisition that asks one master after the
// other, a waiter between creating its node and watching another, a client that moves from one server to the next, two locks
// that were read one after the other. It is to be believed when a second look, a moment later, finds the same.
func Passing(rule string) bool {
	switch rule {
	case "thin-margin", "minority-leftover", "split-quorum", "missing-watch", "ghost-owner", "deadlock":
		return true
	}
	return false
}
