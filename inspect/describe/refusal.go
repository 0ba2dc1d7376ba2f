package describe

import "cmp"

// Refusal describes the reason in release's JSON for releasing nothing.
func Refusal(reason string) string {
	words := map[string]string{
		"not-holder": "it waits, or its value has no quorum: it does not hold the lock; nothing was done",
		"changed": "it has changed: an entry of that name exists, but is not the one that was seen; " +
			"nothing was done",
		"ignored":     "it was asked to release, but still holds the lock",
		"gone":        "it is no longer in the queue; nothing was done",
		"declined":    "not confirmed; nothing was done",
		"two-leaders": "its leader would keep leading alongside the new one: restart it instead; nothing was done",
		"no-quorum":   "too few masters deleted it to free the lock; the deletions are not undone",
		"audit":       "the audit file cannot be written; nothing was done",
		"read-only":   "the profile is read_only; nothing was done",
	}
	return cmp.Or(words[reason], "nothing was done")
}
