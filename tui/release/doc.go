// Package release has the dialogs for actions on other clients' locks: preview, confirmation,
// result, and the lock's holders after it. The actions are a release, a TTL, a request to let go,
// the end of a client, several locks at once, and the muting of findings.
package release
