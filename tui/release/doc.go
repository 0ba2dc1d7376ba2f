// Package release is the dialog of a forced release: preview, typed confirmation, result, and who has the lock then.
package release
