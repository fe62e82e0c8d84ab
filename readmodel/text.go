package readmodel

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// maxTextBytes bounds the parameter q.
const maxTextBytes = 256

// dataHolds is the condition that a column of JSON text holds q, in any case
// of letters. Encoders write one text in several ways ("é" or "\u00e9", "/" or
// "\/"), and data is kept as sent, so each way is looked for.
func dataHolds(b *builder, column, q string) string {
	return "multiSearchAnyCaseInsensitiveUTF8(" + column + ", " + b.texts(spellings(q)) + ")"
}

// spellings lists how q can stand in JSON text: as typed (for a search by
// structure, like "level":"error"), escaped, escaped with slashes too, and
// with everything beyond ASCII as \u escapes, in both cases of letters.
func spellings(q string) []string {
	escaped := jsonEscape(q)
	forms := []string{q, escaped}
	for _, s := range []string{escaped, jsonEscape(strings.ToLower(q)), jsonEscape(strings.ToUpper(q))} {
		forms = append(forms, asciiOnly(s))
	}
	for _, s := range slices.Clone(forms[1:]) {
		forms = append(forms, strings.ReplaceAll(s, "/", `\/`))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

var shortEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// jsonEscape writes s as the inside of a JSON string, escaping only what must be.
func jsonEscape(s string) string {
	s = shortEscapes.Replace(s)
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if isControl(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func isControl(r rune) bool { return r < 0x20 }

func asciiOnly(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e }) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if r <= 0x7e {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}
