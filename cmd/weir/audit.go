package main

import (
	"weir/projections"
	"weir/projections/history"
	"weir/readmodel/tables"
)

// auditConns: an audit asks one thing at a time.
const auditConns = 2

// startAudit counts all the time whether every record is in the history, once. What it finds shows
// as a metric, in the log, and as the degraded status of the history.
func (p *portal) startAudit() error {
	conn, err := p.patientPool(auditConns, projections.AnswerTimeout)
	if err != nil {
		return err
	}
	audited := []projections.Audited{
		{Projection: history.Projection(), Table: tables.Events(), Topic: "concat('weir.events.', toString(type))"},
	}
	p.auditor = projections.NewAuditor(p.log, conn, audited, p.logger, p.registry)
	p.run("auditor", p.auditor.Run)
	return nil
}
