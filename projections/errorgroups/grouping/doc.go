// Package grouping decides which error occurrences are one error group.
//
// It reads the payload of an error event (ParsePayload), parses the stack trace that a
// runtime printed, takes out of it everything that changes from one occurrence to the next
// or from one build to the next, and hashes what is left (Group). Explain tells the same
// decision in words: which component decided, which frames were used and what was
// normalised to what.
//
// Everything here is a pure function of its arguments: no clock, no state, no I/O, so that a
// rebuild gives the same fingerprints. All work is linear in the size of the payload and the
// sizes are bounded (limits.go). Any function may be called by many goroutines at once.
package grouping
