// Package load sends signed batches to POST /api/ingest as fast as a server takes
// them, or at a given rate, and measures what comes back.
//
// It costs little itself, because it shares the machine with what it measures:
// bodies and signatures are made before the clock starts, requests are written
// from memory, and an answer is read no further than it must be.
//
// Closed loop: each connection sends its next batch when the last was answered;
// that finds the capacity. Open loop (Config.Rate): batches are due at fixed
// times whatever the server does, and a latency counts from when its batch was
// due, so that a server that stalls can't hide it.
package load
