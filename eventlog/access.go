package eventlog

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// The mechanisms of Access.
const (
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
)

// Access is what brokers ask of those who connect. The zero Access is none.
type Access struct {
	// TLS of every connection; nil is none. The server's name is that of the broker's
	// address.
	TLS *tls.Config

	// SASL is the mechanism: SASLPlain, SASLScramSHA256, SASLScramSHA512, or "" for
	// none. Without TLS, SASLPlain sends the password readable.
	SASL, User, Password string
}

func (a Access) mechanism() (sasl.Mechanism, error) {
	switch a.SASL {
	case "":
		return nil, nil
	case SASLPlain:
		return plain.Mechanism{Username: a.User, Password: a.Password}, nil
	case SASLScramSHA256:
		return scramOf(scram.SHA256, a)
	case SASLScramSHA512:
		return scramOf(scram.SHA512, a)
	}
	return nil, fmt.Errorf("SASL mechanism %q: use %s, %s or %s", a.SASL, SASLPlain, SASLScramSHA256, SASLScramSHA512)
}

func scramOf(algorithm scram.Algorithm, a Access) (sasl.Mechanism, error) {
	m, err := scram.Mechanism(algorithm, a.User, a.Password)
	if err != nil {
		return nil, fmt.Errorf("user or password of the log: %w", err) // characters that SCRAM does not allow
	}
	return m, nil
}

// denied reports whether brokers turned us away for good: wrong user, password,
// mechanism or certificate.
func denied(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, kafka.SASLAuthenticationFailed) || errors.Is(err, kafka.UnsupportedSASLMechanism) ||
		errors.Is(err, kafka.IllegalSASLState) || errors.As(err, &certificate)
}
