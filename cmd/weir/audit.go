package main

import "weir/projections"

// auditConns: an audit asks one thing at a time.
const auditConns = 2

// startAudit counts all the time whether every record is in each read model, once. What it finds
// shows as a metric, in the log, and as the degraded status of the read model.
func (p *portal) startAudit() error {
	conn, err := p.patientPool(auditConns, projections.AnswerTimeout)
	if err != nil {
		return err
	}
	p.auditor = projections.NewAuditor(p.log, conn, allProjections(), p.logger, p.registry)
	p.run("auditor", p.auditor.Run)
	return nil
}
