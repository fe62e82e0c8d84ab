// Package schemas says what an event is: the envelope, the thirteen event
// types with their fields, and the reasons for which an event is refused.
//
// It has two sides. At the door, [Batch.Parse] checks a whole request body in
// one pass and cuts it into events without copying, re-encoding or allocating.
// Behind the log, [Open] and the functions on raw values ([Members], [String],
// [Int], [ParseDecimal], …) read an event back for a fold.
//
// The table in definitions.go is the specification of the types; everything
// else here is generic over it.
package schemas
