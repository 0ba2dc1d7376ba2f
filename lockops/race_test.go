//go:build race

package lockops_test

// underRaceDetector lets tests skip code paths where go-zookeeper has data races.
const underRaceDetector = true
