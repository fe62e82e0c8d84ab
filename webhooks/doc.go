// Package webhooks is the one lane by which anything leaves the portal: signed
// deliveries to customers' endpoints, chat services and the internal feed. It is
// driven by the log and leaves all it does in the log.
//
//	occasion ──decide──▶ weir.webhooks.owed ──▶ reader ──▶ lane of the endpoint ──▶ HTTP attempt
//	                                              ▲                                    │
//	                weir.webhooks.retry.<delay> ──┘◀── next attempt ◀── outcome in weir.events.webhook
//
// What is owed is decided once, as one record that has the payload and the list of
// deliveries, so replaying or rebuilding a read model never sends anything.
//
// A retry that waits is a record of a delay topic, not a timer: each such topic
// holds its records for one fixed time, in order, and a longer wait is made of
// several hops. Deliveries of an endpoint that is slow, dead or limited are moved to
// a delay topic too, so that they hold up nobody else.
//
// The steps of an attempt are: attempt, outcome appended, next attempt appended,
// record done; a checkpoint passes only records that are done. Whoever takes a
// partition over reads what was appended since the first record that is not done,
// so a kill between any two steps repeats at most attempts that were in flight.
//
// Nothing of an endpoint's secrets, header values or chat URLs gets into logs,
// errors or the history.
package webhooks
