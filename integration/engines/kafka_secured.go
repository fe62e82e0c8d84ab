package engines

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Secured is an Apache Kafka broker that takes nobody but a user, over TLS.
type Secured struct {
	Broker         string // host:port
	CA             string // file with the authority of its certificate, PEM
	User, Password string // for PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512
}

// SecuredKafka starts one broker as a process of this machine.
func SecuredKafka(t testing.TB) Secured {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	program, err := java(ctx)
	if err != nil {
		t.Skip(err)
	}
	jars, err := KafkaJars(ctx)
	if err != nil {
		t.Skip(err)
	}
	for range attempts {
		var s Secured
		if s, err = startSecured(ctx, t, program, jars); err == nil {
			return s
		}
	}
	t.Fatal(err)
	panic("unreachable")
}

func startSecured(ctx context.Context, t testing.TB, program, jars string) (Secured, error) {
	ports, err := freePorts(3)
	if err != nil {
		return Secured{}, err
	}
	dir := t.TempDir()
	s := Secured{Broker: fmt.Sprintf("127.0.0.1:%d", ports[1]), CA: filepath.Join(dir, "ca.pem"), User: "weir", Password: "a secret of 7"}
	if err := writeCertificate(s.CA, filepath.Join(dir, "key.pem")); err != nil {
		return s, err
	}
	inside := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p := properties(1, 1, []string{fmt.Sprintf("1@127.0.0.1:%d", ports[2])})
	maps.Copy(p, map[string]string{
		"listeners":                      fmt.Sprintf("INTERNAL://%s,EXTERNAL://%s,CONTROLLER://127.0.0.1:%d", inside, s.Broker, ports[2]),
		"advertised.listeners":           fmt.Sprintf("INTERNAL://%s,EXTERNAL://%s", inside, s.Broker),
		"inter.broker.listener.name":     "INTERNAL",
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL",
		"log.dirs":                       filepath.Join(dir, "data"),
		"ssl.keystore.type":              "PEM",
		"ssl.keystore.location":          filepath.Join(dir, "key.pem"),
		"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"listener.name.external.plain.sasl.jaas.config": fmt.Sprintf(
			"org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=\"%s\";", s.User, s.Password),
		"listener.name.external.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"listener.name.external.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	})
	broker := &kafkaProcess{java: program, jars: jars, dir: dir}
	t.Cleanup(func() { _ = broker.kill(context.WithoutCancel(ctx)) })
	credentials := fmt.Sprintf("[name=%s,password=%s]", s.User, s.Password)
	if err := broker.format(ctx, clusterID(), p, "--add-scram", "SCRAM-SHA-256="+credentials, "--add-scram", "SCRAM-SHA-512="+credentials); err != nil {
		return s, err
	}
	k := &KafkaCluster{t: t, brokers: []string{inside}, nodes: []node{broker}}
	return s, k.startAll(ctx)
}

// writeCertificate makes a certificate for loopback that is its own authority.
func writeCertificate(ca, keyStore string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "weir test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(ca, certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(keyStore, append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...), 0o600)
}
