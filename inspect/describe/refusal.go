package describe

// Refusal words the reason that release gives in its JSON for releasing nothing.
func Refusal(reason string) string {
	switch reason {
	case "not-holder":
		return "it waits, or its value has no quorum: it does not hold the lock; nothing was done"
	case "changed":
		return "it changed meanwhile: an entry of that name is there, but not the one that was seen; nothing was done"
	case "ignored":
		return "it was asked to let go, and holds the lock still"
	case "gone":
		return "it is no longer in the queue; nothing was done"
	case "declined":
		return "not confirmed; nothing was done"
	case "no-quorum":
		return "too few masters deleted it to free the lock; what was deleted stays deleted"
	case "audit":
		return "the audit file cannot be written; nothing was done"
	case "read-only":
		return "the profile is read_only; nothing was done"
	default:
		return "nothing was done"
	}
}
