package child_test

import (
	"os/exec"
	"testing"

	"weir/internal/child"
)

func TestExitCode(t *testing.T) {
	p, err := child.Start(exec.Command("sh", "-c", "exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err == nil || err.Error() != "exit status 3" {
		t.Errorf("ended with %v, expected exit status 3", err)
	}
	p.Kill() // of an ended child
}

func TestKill(t *testing.T) {
	p, err := child.Start(exec.Command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	select {
	case <-p.Ended():
	default:
		t.Error("Kill returned before the end")
	}
	if p.Err() == nil {
		t.Error("a killed child ended without error")
	}
}

func TestNoProgram(t *testing.T) {
	if _, err := child.Start(exec.Command("/nonexistent/program")); err == nil {
		t.Error("started a program that does not exist")
	}
}
