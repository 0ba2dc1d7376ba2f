// Package release is the dialog of a forced release: preview, typed confirmation, result, and the lock's holder after it.
package release
