package engines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"weir/internal/clickhouse/chtest"
	"weir/internal/filelock"
)

// pom asks Maven for Kafka and for a log binding, which Kafka leaves to its distribution.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>weir</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_` + scalaVersion + `</artifactId><version>` + kafkaVersion + `</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>` + slf4jVersion + `</version></dependency>
</dependencies></project>
`

// KafkaJars returns the folder with Kafka's jars, which it fetches with Maven into the cache the
// first time: 43 MB.
func KafkaJars(ctx context.Context) (string, error) {
	cache, err := chtest.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "kafka", kafkaVersion)
	jars := filepath.Join(dir, "jars")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	unlock, err := filelock.Wait(ctx, filepath.Join(dir, "fetch.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(jars); err == nil {
		return jars, nil
	}
	return jars, fetchJars(ctx, dir, jars)
}

func fetchJars(ctx context.Context, dir, jars string) error {
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%w: Maven (mvn), to fetch Kafka with; install it, or set %s", errMissing, kafkaBrokersEnv)
	}
	staging := filepath.Join(dir, "staging")
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.MkdirAll(staging, 0o750); err != nil {
		return err
	}
	project := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(project, []byte(pom), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "fetching Apache Kafka %s with Maven into %s\n", kafkaVersion, dir)
	cmd := exec.CommandContext(ctx, maven, "--batch-mode", "--quiet", "--file", project, //nolint:gosec // Maven as found on PATH
		"dependency:copy-dependencies", "-DoutputDirectory="+staging)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching Kafka with Maven: %w\n%s", err, tail(output))
	}
	return os.Rename(staging, jars)
}

var javaVersionPattern = regexp.MustCompile(`version "(\d+)`)

// java returns the Java to run Kafka with.
func java(ctx context.Context) (string, error) {
	program, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("%w: Java %d or later, to run Kafka; install it, or set %s", errMissing, javaVersion, kafkaBrokersEnv)
	}
	output, err := exec.CommandContext(ctx, program, "-version").CombinedOutput() //nolint:gosec // Java as found on PATH
	if err != nil {
		return "", fmt.Errorf("%s -version: %w", program, err)
	}
	found := javaVersionPattern.FindSubmatch(output)
	if found == nil {
		return "", fmt.Errorf("%s -version says %q", program, output)
	}
	if version, _ := strconv.Atoi(string(found[1])); version < javaVersion {
		return "", fmt.Errorf("%w: Java %d or later, to run Kafka; %s is version %d", errMissing, javaVersion, program, version)
	}
	return program, nil
}

// tailOf is the end of a stream, for errors.
func tailOf(from io.Reader) string {
	output, err := io.ReadAll(from)
	if err != nil {
		return err.Error()
	}
	return tail(output)
}

// tail is the end of an output, for errors.
func tail(output []byte) string {
	const kept = 4000
	output = bytes.TrimSpace(output)
	if len(output) > kept {
		output = output[len(output)-kept:]
	}
	return string(output)
}
