package main

import (
	"weir/control"
	"weir/control/tenants"
)

// startTenants lets tenant events of operator projects set the limits of the projects they name.
func (p *portal) startTenants() {
	follower := tenants.New(tenants.Config{
		Log:   p.log,
		Apply: control.NewCommands(p.directory).ApplyTenantLimit,
		Operator: func(id string) bool {
			project, known := p.directory.Project(id)
			return known && project.Operator
		},
		Logger: p.logger, Registerer: p.registry,
	})
	p.run("tenants", follower.Run)
}
