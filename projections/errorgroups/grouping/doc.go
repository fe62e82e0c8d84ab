// Package grouping decides which error occurrences are one error group.
//
// It reads the payload of an error event (ParsePayload), parses the stack trace that a
// runtime printed, takes out of it everything that changes from one occurrence to the next
// or from one build to the next, and hashes what is left (Group). Explain tells the same
// decision in words: which component decided, which frames were used and what was
// normalised to what.
//
// The rules, each in a function of its own:
//
//   - a fingerprint that the client sends goes before what is computed; "{{ default }}" in it
//     stands for that (decide.go);
//   - a chain of exceptions with stacks goes before type and message (links.go, gather.go);
//   - frames of the sender's own code decide, library frames only where there are no others
//     (inapp.go), each once, however often it recurs (choose.go);
//   - of a frame stay the function without generated parts and, where the function's name has
//     no package, the file's name without hashes, host and folders (function.go, file.go);
//   - of a message stay the words: values are replaced by what they are (normalize.go).
//
// Everything here is a pure function of its arguments: no clock, no state, no I/O, so that a
// rebuild gives the same fingerprints. All work is linear in the size of the payload and the
// sizes are bounded (limits.go). Any function may be called by many goroutines at once.
package grouping
