package engines

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Options of one broker's Java: three of them and the tests share a small machine. The first
// compiler tier is enough and starts faster. They are two because the public image adds a
// collector of its own to the heap's options, but not to the others.
const (
	heapOptions = "-Xms96m -Xmx320m"
	jvmOptions  = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
)

// properties of a node, apart from its addresses.
func properties(id, nodes int, voters []string) map[string]string {
	replicas, inSync := min(3, nodes), 1
	if nodes >= 3 {
		inSync = 2
	}
	return map[string]string{
		"node.id":                        strconv.Itoa(id),
		"process.roles":                  "broker,controller",
		"controller.quorum.voters":       strings.Join(voters, ","),
		"controller.listener.names":      "CONTROLLER",
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",

		"default.replication.factor":               strconv.Itoa(replicas),
		"min.insync.replicas":                      strconv.Itoa(inSync),
		"offsets.topic.replication.factor":         strconv.Itoa(replicas),
		"transaction.state.log.replication.factor": strconv.Itoa(replicas),
		"transaction.state.log.min.isr":            strconv.Itoa(inSync),
		"auto.create.topics.enable":                "false",

		// A dead broker is noticed after seconds, and a group's first member waits for nobody.
		"broker.session.timeout.ms":        "6000",
		"broker.heartbeat.interval.ms":     "1000",
		"group.initial.rebalance.delay.ms": "0",
		"group.min.session.timeout.ms":     "1000",

		// Small: the defaults count on a server of its own.
		"offsets.topic.num.partitions":         "4",
		"transaction.state.log.num.partitions": "4",
		"num.network.threads":                  "2",
		"num.io.threads":                       "2",
		"background.threads":                   "2",
		"log.cleaner.dedupe.buffer.size":       "8388608",
		"group.coordinator.threads":            "1",
		"controlled.shutdown.enable":           "false",
	}
}

// propertiesFile is Kafka's own format; no value here needs escaping.
func propertiesFile(p map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s=%s\n", name, p[name])
	}
	return text.String()
}

// environment is how Kafka's image takes properties.
func environment(p map[string]string) map[string]string {
	env := make(map[string]string, len(p))
	for name, value := range p {
		env["KAFKA_"+strings.ToUpper(strings.ReplaceAll(name, ".", "_"))] = value
	}
	return env
}

// clusterID is 16 random bytes as Kafka writes them. One that begins with a dash would be taken
// for an option.
func clusterID() string {
	for {
		var id [16]byte
		_, _ = rand.Read(id[:])
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text
		}
	}
}
