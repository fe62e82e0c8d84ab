package main

import "fmt"

// checkMasterKey refuses a master key that opens none of the secrets there are: it is another one,
// and every batch would be refused with a 403, which clients take for final.
func (p *portal) checkMasterKey() error {
	n := p.directory.UnreadableSecrets()
	if n == 0 {
		return nil
	}
	if all, _ := p.directory.Projects("", n+1); len(all) == n {
		return fmt.Errorf("the master key opens no project's webhook secret (%d projects): start with the one they were made with, in WEIR_MASTER_KEY or master.key in the data folder", n)
	}
	p.logger.Error("webhook secrets cannot be opened with this master key: their projects' batches will be refused with 403",
		"projects", n, "do", "start with the master key these projects were made with")
	return nil
}
