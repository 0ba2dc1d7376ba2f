package screen

// noSuspend is the reason why ctrl+z must not stop us.
func noSuspend() string { return "Windows has no job control" }
