// Package receipts gives each idempotency key one effect, through the log.
//
// The topic weir.receipts holds two kinds of records: a claim says that a
// gateway is about to process the batch of a key; a receipt says what the batch
// was answered. All records of one key are in one partition, so every gateway
// that tails the topic sees them in the same order and folds them by the same
// rules (see index.apply) into the same owner and the same answer:
//
//	claim ──▶ wait for the own tail ──▶ owner? ──▶ append the events ──▶ receipt ──▶ answer
//	                                      │no
//	                                      └──▶ wait for the owner's receipt ──▶ same answer
//
// A claim whose owner died is taken over when its lease has ended: the new
// owner looks for the batch id where its events must be (Find) and appends only
// what is missing. The gateway that comes back under the same name takes over
// at once, for what it was is dead.
//
// The only state is the log; Book is an index of it in memory, about 32 bytes a
// key (position and time; answers are read back from the log), rebuilt at start.
//
// What it rests on: the topic keeps its number of partitions; gateways' clocks agree within ten seconds, and an append whose
// caller gave up is not applied after half a lease more.
package receipts
