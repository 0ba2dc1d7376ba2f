// Package release provides the dialogs for actions on other clients' locks: preview, confirmation,
// result, and the lock's holders after it. The actions are a release, a TTL, a request to
// release, ending a client's connections, bulk actions, and muting findings.
package release
