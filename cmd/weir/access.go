package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"weir/eventlog"
)

const saslNone = "none"

// access makes what the brokers and the ClickHouse server ask of those who connect.
func (c *serveCmd) access() (log eventlog.Access, clickHouse *tls.Config, err error) {
	if log.TLS, err = trust(c.KafkaTLS, c.KafkaCA, "WEIR_KAFKA_CA"); err != nil {
		return log, nil, err
	}
	if c.KafkaSASL != saslNone {
		log.SASL, log.User, log.Password = c.KafkaSASL, c.KafkaUser, c.KafkaPassword
	}
	clickHouse, err = trust(c.ClickHouseTLS, c.ClickHouseCA, "WEIR_CLICKHOUSE_CA")
	return log, clickHouse, err
}

// trust is nil without TLS; a file of authorities means TLS.
func trust(on bool, file, setting string) (*tls.Config, error) {
	if !on && file == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("%s: %w", setting, err)
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(pem) {
		return nil, usagef("%s: %s holds no certificate in PEM form", setting, file)
	}
	return cfg, nil
}
