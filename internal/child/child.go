// Package child starts processes that do not outlive the one that started them.
package child

import (
	"os/exec"
	"runtime"
)

// Process is a started child. Its methods may be called from anywhere at once.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// Start runs the command as a child in a process group of its own, so that a terminal's Ctrl-C
// does not reach it. On Linux it is killed when this process ends, however that ends; elsewhere
// the command must watch its standard input. The caller must not call cmd.Wait.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = attributes()
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux sends the parent-death signal when the thread that forked ends, not the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the child has ended and has been waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err waits for the child's end and says how it ended; nil after exit code 0.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Kill ends the child with SIGKILL and waits for it. It does nothing when the child has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only when it has ended already
	<-p.ended
}
