// Package release has the dialogs of what is done to locks of others: preview, confirmation, result, and the
// lock's holders after it. A release, a TTL, a request to let go, the end of a client, several locks at once,
// and the muting of findings.
package release
