// Package limits decides how many events and batches a project may send.
//
// A bucket holds one second's worth of the rate and refills evenly. Batches
// cost one token each and wait for a whole one. Events follow the debt rule: a
// batch passes, whole, when the project's bucket is not in debt, and may leave
// a debt that later batches wait for, so that no legal batch is refused for
// ever and the rate still holds over time.
//
// Buckets keeps its buckets in this process. The ingest gateway needs only the
// two methods of its own Limiter interface, so a limiter that shares the rate
// between gateways can take the place of Buckets.
package limits
