// Package releases orders releases that are semantic versions.
package releases

import (
	"fmt"
	"strings"
)

// Key is a text such that Key(a) < Key(b), byte by byte, exactly when version a
// precedes version b by the rules of semver.org: so that a database can compare
// releases. It is "" for what is no semantic version. A leading v is left out,
// a missing patch number is 0 and build metadata does not count, so two
// different releases can have the same key.
func Key(release string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(release, "v"), "+")
	core, pre, hasPre := strings.Cut(version, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) == 2 {
		numbers = append(numbers, "0")
	}
	if len(numbers) != 3 {
		return ""
	}
	var b strings.Builder
	for _, n := range numbers {
		if !isNumber(n) {
			return ""
		}
		number(&b, n)
	}
	if !hasPre {
		b.WriteByte('~') // a release comes after its pre-releases
		return b.String()
	}
	b.WriteByte('-')
	for _, id := range strings.Split(pre, ".") {
		if !identifier(&b, id) {
			return ""
		}
	}
	return b.String()
}

// number writes digits so that a longer number comes later.
func number(b *strings.Builder, digits string) { fmt.Fprintf(b, "%03d%s", len(digits), digits) }

// identifier writes one part of a pre-release: numbers come before words, and
// the blank that ends a word before every sign a word can have.
func identifier(b *strings.Builder, id string) bool {
	if isNumber(id) {
		b.WriteByte('0')
		number(b, id)
		b.WriteByte(' ')
		return true
	}
	if id == "" || strings.Trim(id, "0123456789") == "" { // 01 is neither
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	b.WriteByte('1')
	b.WriteString(id)
	b.WriteByte(' ')
	return true
}

func isNumber(s string) bool {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
