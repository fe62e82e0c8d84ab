// Package projections folds the log into the read models' tables.
//
// A [Projection] is a name, a version, topics, tables and a pure [Fold]. A
// [Projector] runs projections: it shares the partitions with other projectors
// through a consumer group, and for each partition it repeats
//
//	fetch ─▶ fold ─▶ plan ─▶ insert every table's block ─▶ advance
//
// where plan commits "from here, up to there" and advance commits "done up to
// there", both to the group in Kafka, both refused by it when this projector is
// no longer the owner. Each insert carries a token made of projection,
// generation, topic, partition, offsets and table. Whatever step a crash falls
// on, the next owner finds the plan, folds exactly the same records into the
// same rows and inserts them with the same tokens, and ClickHouse drops the
// blocks it already has. So counts and sums equal those of one fold done once.
//
// For that to hold:
//   - a Fold is a function of the records alone: no clock, no randomness, no
//     state kept from one block to the next;
//   - a block is never split in two inserts, and its tables remember their
//     tokens (tables.Options.DeduplicationWindow);
//   - the window covers what others insert while a paused projector sleeps
//     between its last check of membership and its insert. The check is made
//     again when more than a second passed since the plan, so the pause must
//     fall between two adjacent calls and outlast the whole window (see
//     TokenWindow) to do harm.
//
// A record that a fold refuses, or that makes it panic, goes to the quarantine
// table in the same block, and the partition goes on. ClickHouse being away
// stops nothing but the folds: the same insert is repeated until it is taken.
// What cannot be decided safely (a checkpoint behind retention or past the end
// of the log, a checkpoint gone that was there: see fold_starts) halts that partition
// or projection loudly; it is looked at again every half a minute.
//
// Beside the live generation another one can be built: [Rebuilds] takes the
// wish, which is a table's COMMENT; projectors fill the new tables through a group
// of their own, giving way to live folding; the projector that leads brings both
// generations to one position, compares digests and swaps the tables. Should the
// live tables be of an older version of the fold, it asks for that by itself.
// [Projector.Verify] folds the log once more and names the rows that differ.
//
// A [Monitor] tells how far every projection is, from any process.
package projections
