package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"weir/internal/child"
)

// logging sends Kafka's log to standard output.
const logging = `<Configuration status="WARN"><Appenders><Console name="out"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
`

// kafkaProcess is a node that runs on this machine's Java.
type kafkaProcess struct {
	java, jars, dir string
	process         *child.Process
}

func kafkaAsProcesses(ctx context.Context, t testing.TB, n int) (*KafkaCluster, error) {
	program, err := java(ctx)
	if err != nil {
		return nil, err
	}
	jars, err := KafkaJars(ctx)
	if err != nil {
		return nil, err
	}
	for range attempts {
		var k *KafkaCluster
		if k, err = formatProcesses(ctx, t, program, jars, n); err != nil {
			return nil, err
		}
		if err = k.startAll(ctx); err == nil {
			return k, nil
		}
	}
	return nil, err
}

// formatProcesses makes the folders of n nodes, on ports that are free now.
func formatProcesses(ctx context.Context, t testing.TB, program, jars string, n int) (*KafkaCluster, error) {
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	k := &KafkaCluster{}
	var voters []string
	for i := range n {
		k.brokers = append(k.brokers, fmt.Sprintf("127.0.0.1:%d", ports[2*i]))
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports[2*i+1]))
	}
	id := clusterID()
	group, formatting := errgroup.WithContext(ctx)
	for i := range n {
		p := properties(i+1, n, voters)
		p["listeners"] = fmt.Sprintf("EXTERNAL://%s,CONTROLLER://127.0.0.1:%d", k.brokers[i], ports[2*i+1])
		p["advertised.listeners"] = "EXTERNAL://" + k.brokers[i]
		p["inter.broker.listener.name"] = "EXTERNAL"
		node := &kafkaProcess{java: program, jars: jars, dir: t.TempDir()}
		p["log.dirs"] = filepath.Join(node.dir, "data")
		k.nodes = append(k.nodes, node)
		t.Cleanup(func() { _ = node.kill(context.WithoutCancel(ctx)) })
		group.Go(func() error { return node.format(formatting, id, p) })
	}
	return k, group.Wait()
}

func (p *kafkaProcess) file(name string) string { return filepath.Join(p.dir, name) }

func (p *kafkaProcess) format(ctx context.Context, clusterID string, properties map[string]string, more ...string) error {
	if err := os.WriteFile(p.file("server.properties"), []byte(propertiesFile(properties)), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(p.file("log4j2.xml"), []byte(logging), 0o600); err != nil {
		return err
	}
	args := append([]string{"format", "--cluster-id", clusterID, "--config", p.file("server.properties")}, more...)
	cmd := p.command(ctx, "kafka.tools.StorageTool", args...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("formatting a Kafka node's folder: %w\n%s", err, tail(output))
	}
	return nil
}

func (p *kafkaProcess) command(ctx context.Context, class string, args ...string) *exec.Cmd {
	options := append(strings.Fields(heapOptions+" "+jvmOptions), "-Dlog4j2.configurationFile="+p.file("log4j2.xml"),
		// What a killed JVM had unpacked (the native parts of its compressors) goes with the test's folder.
		"-Djava.io.tmpdir="+p.dir, "-XX:-UsePerfData",
		"-cp", filepath.Join(p.jars, "*"), class)
	cmd := exec.CommandContext(ctx, p.java, append(options, args...)...) //nolint:gosec // Java as found on PATH
	cmd.Dir = p.dir
	return cmd
}

func (p *kafkaProcess) start(context.Context) error {
	log, err := os.OpenFile(p.file("kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                                                                  // the child has its own
	cmd := p.command(context.Background(), "kafka.Kafka", p.file("server.properties")) //nolint:contextcheck // the broker outlives the start that began it
	cmd.Stdout, cmd.Stderr = log, log
	p.process, err = child.Start(cmd)
	return err
}

func (p *kafkaProcess) kill(context.Context) error {
	if p.process != nil {
		p.process.Kill()
	}
	return nil
}

func (p *kafkaProcess) output(context.Context) string {
	log, err := os.ReadFile(p.file("kafka.log"))
	if err != nil {
		return err.Error()
	}
	return tail(log)
}
