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
//
// # What is refused, and how
//
// A body that is not RFC 8259 JSON in valid UTF-8, begins with a byte order
// mark, has anything after it, nests deeper than [MaxDepth] or has "events"
// twice is refused whole as [CodeInvalidJSON]. A body that is JSON, but no
// object with an array "events", is refused whole as [CodeEventsMissing]. A
// fault of the JSON anywhere in the body comes first. Members of the body beside
// "events" are verified and ignored.
//
// An event is refused alone, for the first reason in the order type, ts, data,
// other members. Within one of them a name that is twice and an unpaired
// surrogate escape come first, in the order of the text; then the fields of
// data in the order of their definition. Names are compared decoded. Reasons
// begin with a path from the event's root; a name in it that could be misread
// (with a point, a space, a bracket) stands in quotes, and long ones are cut.
//
// # Numbers
//
// JSON has one sort of number. An Integer field takes every number whose value
// is whole and in range: 200, 200.0, 2e2. A Number field takes what rounds to a
// finite float64. An Amount takes what a [Decimal] holds exactly: at most 20
// digits before and 38 after the decimal point. Numbers elsewhere are kept as
// sent.
package schemas
