// Package rejections tells the log what the door refused: counts per project,
// type and reason, with the last sample, so that a client's owner finds the bug.
//
//	door ──Note──▶ entries ──Run, later──▶ weir.rejections ──▶ a projection
//
// Note never waits and never fails. What is remembered is bounded: per project
// and hour so many different reasons, which clients can make up; more are
// counted under one reason, and beyond the bound of the whole gateway they are
// dropped and counted in a metric.
//
// The loss rule: counts may be too low, never too high. A gateway that is killed
// loses what it has not told yet, a few seconds' worth; an append whose fate is
// unknown is not repeated. Accepted events are never touched by any of this.
package rejections
