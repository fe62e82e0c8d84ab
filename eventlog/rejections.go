package eventlog

// RejectionsTopic holds what the door refused of answered batches: not the
// events, but how many of one project, type and reason, with a sample. Gateways
// append to it behind the answer, and a projection sums it up. A record's key is
// the project, its value
//
//	{"type":"log","reason":"data.message: required","count":12,
//	 "last":"2026-11-21T10:00:00.123Z","sample":"{\"type\":\"log\",…"}
//
// type is "" when it is not known; count and sample are of this record alone.
const RejectionsTopic = "weir.rejections"
