package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"weir/eventlog"
	"weir/integration/engines"
)

// Apache Kafka that wants TLS and a password: each way to sign in works for appends, reads
// and groups, and a wrong one is said at once. The service goes through its settings.
func TestSecuredKafka(t *testing.T) {
	k := engines.SecuredKafka(t)
	pem, err := os.ReadFile(k.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	access := eventlog.Access{TLS: &tls.Config{RootCAs: pool}, User: k.User, Password: k.Password}
	open := func(a eventlog.Access) (*eventlog.Log, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return eventlog.Open(ctx, eventlog.Config{Brokers: []string{k.Broker}, Partitions: 1, Access: a, Logger: slog.New(slog.DiscardHandler)})
	}
	topic := eventlog.EventsTopics()[0]
	for i, mechanism := range []string{eventlog.SASLPlain, eventlog.SASLScramSHA256, eventlog.SASLScramSHA512} {
		access.SASL = mechanism
		log, err := open(access)
		if err != nil {
			t.Fatalf("%s: %v", mechanism, err)
		}
		if first, err := log.Append(t.Context(), topic, 0, eventlog.Set{Time: time.Now(), Values: [][]byte{[]byte("{}")}}); err != nil || first != int64(i) {
			t.Errorf("%s: appended at %d, error %v", mechanism, first, err)
		}
		if c, err := log.Fetch(t.Context(), topic, 0, int64(i), 1000, time.Second); err != nil || len(c.Records) != 1 {
			t.Errorf("%s: fetched %+v, error %v", mechanism, c, err)
		}
		if _, err := log.Checkpoints(t.Context(), "weir.test", []string{topic}); err != nil {
			t.Errorf("%s: %v", mechanism, err)
		}
		if err := log.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	began := time.Now()
	access.Password = "another"
	if _, err := open(access); !errors.Is(err, eventlog.ErrRefused) || !strings.Contains(err.Error(), "check user, password") || time.Since(began) > 8*time.Second {
		t.Errorf("a wrong password: %v after %v", err, time.Since(began))
	}
	access.Password, access.TLS = k.Password, &tls.Config{}
	if _, err := open(access); !errors.Is(err, eventlog.ErrRefused) {
		t.Errorf("a certificate of an authority nobody knows: %v", err)
	}

	s := newServer(t, "secured", "WEIR_KAFKA_BROKERS="+k.Broker, "WEIR_KAFKA_CA="+k.CA, "WEIR_KAFKA_SASL=scram-sha-256",
		"WEIR_KAFKA_USER="+k.User, "WEIR_KAFKA_PASSWORD="+k.Password, "WEIR_LOG_PARTITIONS=1")
	s.start()
}
