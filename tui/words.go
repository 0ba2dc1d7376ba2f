package tui

import (
	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/theme"
)

// sign is the glyph of a lock and its style.
func sign(t *theme.Theme, l *inspect.Lock) span { return rankSign(t, describe.LevelOf(l)) }

func rankSign(t *theme.Theme, r describe.Level) span {
	switch r {
	case describe.LevelCritical:
		return span{t.Glyphs.Critical, t.Critical}
	case describe.LevelWarning:
		return span{t.Glyphs.Warning, t.Warning}
	case describe.LevelUnknown:
		return span{t.Glyphs.Unknown, t.Unknown}
	case describe.LevelFree:
		return span{t.Glyphs.Free, t.Free}
	default:
		return span{t.Glyphs.Holding, t.Holding}
	}
}

// severitySign is the glyph of a finding and its style.
func severitySign(t *theme.Theme, s inspect.Severity) span {
	switch s {
	case inspect.Critical:
		return span{t.Glyphs.Critical, t.Critical}
	case inspect.Warning:
		return span{t.Glyphs.Warning, t.Warning}
	default:
		return span{t.Glyphs.Info, t.Info}
	}
}

// ages is what ages are told by.
func agesOf(host Context) describe.View {
	return describe.View{Snapshot: host.Snapshot(), Now: host.Now()}
}

// verdict says in plain words who holds a lock, since when, and who waits.
func verdict(host Context, l *inspect.Lock) string {
	return host.Theme().Glyphs.Put(agesOf(host).Verdict(l))
}
