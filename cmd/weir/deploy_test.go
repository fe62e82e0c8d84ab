package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDeployUsesSettingsThatThereAre finds variables of ours in deploy/ that serve does not read.
func TestDeployUsesSettingsThatThereAre(t *testing.T) {
	known := []string{"WEIR_SERVER", "WEIR_API_KEY", "WEIR_WEBHOOK_SECRET"} // of the other verbs
	for _, f := range serveFlags(t) {
		known = append(known, f.Envs...)
	}
	variable := regexp.MustCompile(`\b(WEIR|INGEST)_[A-Z_]*[A-Z]\b`)
	for _, file := range append(deployed(t), "../../deploy/Dockerfile", "../../deploy/compose/env.example") {
		for _, name := range variable.FindAllString(readPage(t, file), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which weir does not read", file, name)
			}
		}
	}
}

// TestDeployRoles finds roles in deploy/ that serve does not have.
func TestDeployRoles(t *testing.T) {
	roles := []string{}
	for _, f := range serveFlags(t) {
		if f.Name == "roles" {
			roles = strings.Split(f.Tag.Enum, ",")
		}
	}
	used := regexp.MustCompile(`(?:WEIR_ROLES: |--roles=)([a-z,]+)`)
	for _, file := range deployed(t) {
		for _, m := range used.FindAllStringSubmatch(readPage(t, file), -1) {
			for _, role := range strings.Split(m[1], ",") {
				if !slices.Contains(roles, role) {
					t.Errorf("%s runs the role %q; there are %v", file, role, roles)
				}
			}
		}
	}
}

// TestDeployAlertsPointIntoTheRunbook finds alerts whose runbook is not a heading of the page.
func TestDeployAlertsPointIntoTheRunbook(t *testing.T) {
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(readPage(t, operationsPage), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		headings[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	alerts := readPage(t, "../../deploy/prometheus/alerts.yml")
	links := regexp.MustCompile(`runbook: "docs/operations\.md#([a-z-]+)"`).FindAllStringSubmatch(alerts, -1)
	if want := strings.Count(alerts, "- alert: "); len(links) != want || want == 0 {
		t.Errorf("%d alerts, %d of them with a runbook", want, len(links))
	}
	for _, link := range links {
		if !headings[link[1]] {
			t.Errorf("deploy/prometheus/alerts.yml points at docs/operations.md#%s, which there is not", link[1])
		}
	}
}

func TestDeployDashboardIsJSON(t *testing.T) {
	paths, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Title  string            `json:"title"`
			Panels []json.RawMessage `json:"panels"`
		}
		if err := json.Unmarshal(raw, &dashboard); err != nil || dashboard.Title == "" || len(dashboard.Panels) == 0 {
			t.Errorf("%s: %q, %d panels, %v", path, dashboard.Title, len(dashboard.Panels), err)
		}
	}
}
