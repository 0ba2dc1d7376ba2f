package config

import "io/fs"

func ownerOf(fs.FileInfo) (user, group int, known bool) { return 0, 0, false }
