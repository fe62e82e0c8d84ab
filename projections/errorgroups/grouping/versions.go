package grouping

import "fmt"

// Version is one version of the rules. Older ones stay, so that a projection can fill a new
// generation under one version while another serves.
type Version struct {
	Number  int
	Group   func(project string, p Payload) Result
	Explain func(project string, p Payload) Explanation

	rules rules
}

// rules are what versions differ in.
type rules struct {
	number int
	frames int // how many frames of each exception decide, from the innermost on
}

// The versions of the rules.
//
// everyFrame tells two ways into one function apart: what calls it is part of the
// problem, as it is in a shared function (a decoder, a query builder) that fails
// for reasons of its callers.
//
// placeOfFailure groups by where it failed: the innermost frame of the own code
// and the types of the chain. It suits services in which one defect is reached by
// many routes, or whose call paths change with every release; the price is that
// defects of the callers of a shared function are one group.
var (
	everyFrame     = rules{number: 1, frames: maxUsedFrames}
	placeOfFailure = rules{number: 2, frames: 1}
)

func (r rules) version() Version {
	return Version{Number: r.number, Group: r.group, Explain: r.explain, rules: r}
}

// versions are all versions, oldest first.
var versions = []Version{everyFrame.version(), placeOfFailure.version()}

// Versions lists the numbers of all versions, oldest first.
func Versions() []int {
	numbers := make([]int, len(versions))
	for i, v := range versions {
		numbers[i] = v.Number
	}
	return numbers
}

// Lookup finds a version by its number; the error names the known ones.
func Lookup(number int) (Version, error) {
	for _, v := range versions {
		if v.Number == number {
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("grouping: no algorithm %d, choose one of %v", number, Versions())
}
