package grouping

import "fmt"

// Version is one version of the rules. Older ones stay, so that a projection can fill a new
// generation under one version while another serves.
type Version struct {
	Number  int
	Group   func(project string, p Payload) Result
	Explain func(project string, p Payload) Explanation
}

// versions are all versions, oldest first.
var versions = []Version{
	{Number: Algorithm, Group: Group, Explain: Explain},
}

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
