// Package control keeps who may do what: projects, their API keys, webhook
// secrets, limits and the operator mark. All of it is events in the topic
// weir.control; nothing is stored anywhere else.
//
//	command ──decide──▶ events ──append──▶ weir.control ──follow──▶ fold ──▶ Directory
//	   ▲                                                                      │
//	   └───────────────────── waits until it is folded ◀──────────────────────┘
//
// A command is decided against this node's Directory, appended, and answered
// from the Directory once this node's own follower has read it back. So there
// is one order of events, the log's, and every node that has read as far is in
// the same state. Two nodes that decide at the same time end the same: the
// fold takes a created thing's first event and ignores a second with the same
// id; of two changes to one property the later in the log wins. A revocation
// is final whatever is decided beside it.
//
// Readers on the hot path (Lookup) take no lock and allocate nothing. Secrets
// are in the log only sealed under the master key; API keys only as SHA-256.
package control
