//go:build race

package lockops_test

// underRaceDetector says that the tests look for data races, also for those of other people's code.
const underRaceDetector = true
