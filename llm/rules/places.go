package rules

import "strings"

// demonyms are adjectives of places that no rule makes of their names.
var demonyms = map[string][]string{
	"french": {"france"}, "dutch": {"netherlands", "holland"}, "german": {"germany"}, "spanish": {"spain"},
	"british": {"united kingdom", "uk", "great britain", "britain"}, "english": {"england"}, "scottish": {"scotland"},
	"welsh": {"wales"}, "irish": {"ireland"}, "american": {"united states", "usa", "us", "america"}, "greek": {"greece"},
	"swiss": {"switzerland"}, "swedish": {"sweden"}, "danish": {"denmark"}, "finnish": {"finland"}, "turkish": {"turkey"},
	"polish": {"poland"}, "portuguese": {"portugal"}, "chinese": {"china"}, "japanese": {"japan"}, "thai": {"thailand"},
	"norwegian": {"norway"}, "czech": {"czech republic", "czechia"}, "argentine": {"argentina"}, "brazilian": {"brazil"},
	"canadian": {"canada"}, "mexican": {"mexico"}, "peruvian": {"peru"}, "filipino": {"philippines"}, "welshman": {"wales"},
	"european": {"europe"}, "asian": {"asia"}, "african": {"africa"}, "oceanian": {"oceania"}, "israeli": {"israel"},
	"iraqi": {"iraq"}, "pakistani": {"pakistan"}, "egyptian": {"egypt"}, "hungarian": {"hungary"}, "italian": {"italy"},
	"belgian": {"belgium"}, "ukrainian": {"ukraine"}, "vietnamese": {"vietnam"}, "taiwanese": {"taiwan"},
	"icelandic": {"iceland"}, "slovak": {"slovakia"}, "serbian": {"serbia"}, "croatian": {"croatia"}, "croat": {"croatia"},
	"soviet": {"soviet union", "ussr"}, "russian": {"russia"}, "indian": {"india"}, "australian": {"australia"},
	"kiwi": {"new zealand"}, "korean": {"south korea", "korea"}, "afghan": {"afghanistan"}, "kenyan": {"kenya"},
	"us": {"usa", "united states"}, "usa": {"united states", "us"}, "america": {"usa", "united states"}, "uk": {"united kingdom", "great britain"},
	"united states": {"usa", "us"}, "united kingdom": {"uk", "great britain"}, "u s": {"usa", "united states", "us"}, "u k": {"united kingdom"},
	"netherlands": {"the netherlands", "holland"},
}

// placesOf are the names of places that a word may stand for.
func placesOf(w string) []string {
	if p, ok := demonyms[w]; ok {
		return p
	}
	if l := lemma(w); l != w {
		if p, ok := demonyms[l]; ok {
			return p
		}
		w = l
	}
	var places []string
	for _, suffix := range []string{"ian", "an", "n", "ese", "ish", "i"} {
		if stem, ok := strings.CutSuffix(w, suffix); ok && len(stem) >= 4 {
			places = append(places, stem, stem+"a", stem+"ia")
		}
	}
	return places
}
