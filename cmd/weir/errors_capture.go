package main

import (
	"weir/ingest"
	"weir/projections/errorgroups/grouping"
)

// capturedGroup tells a capture's group as the read model will: by the same algorithm, from the
// same bytes.
func capturedGroup(chosen grouping.Version) func(project string, data []byte) ingest.CapturedGroup {
	return func(project string, data []byte) ingest.CapturedGroup {
		payload, _ := grouping.ParsePayload(data) // usable whatever it is
		group := chosen.Group(project, payload)
		return ingest.CapturedGroup{Fingerprint: group.Hex(), Name: group.Name, Message: group.Message, Culprit: group.Culprit}
	}
}
