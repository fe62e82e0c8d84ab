// Package eventlog is the only door to the log: it makes the topics, appends
// events, fetches and tails them, and keeps the checkpoints of those who fold
// them. It speaks the Kafka protocol through segmentio/kafka-go, to Apache Kafka
// or to the embedded broker alike.
//
// Writing. [Log.Append] returns after every in-sync replica has the whole set.
// Sets that arrive for a partition while a produce is under way share the next
// record batch (group commit). Producing is idempotent: a produce whose answer
// was lost is repeated with the same sequence number, so that it is in the log
// once.
//
// Reading. [Log.Fetch] reads one partition from an offset and never jumps: an
// offset that retention has deleted, or that is past the end, is an error.
// [Log.Tail] follows a whole small topic.
//
// Folding. [Log.Join] makes the process a member of a consumer group and hands
// out assignments. [Assignment.Plan] and [Assignment.Advance] keep, in the
// group's committed offsets, how far a partition is folded and which range is
// being folded right now.
package eventlog
