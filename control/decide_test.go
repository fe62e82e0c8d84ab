package control

import (
	"reflect"
	"strings"
	"testing"

	"weir/internal/httpapi"
)

func ptr[T any](v T) *T { return &v }

func TestDecide(t *testing.T) {
	s := stateOf(t,
		on("prj_a", projectCreated{Name: "one"}), on("prj_a", aKey(keyA, "manage")),
		on("prj_b", projectCreated{Name: "two"}), on("prj_b", operatorSet{Operator: true}), on("prj_b", aKey(keyB, "ingest")),
		on("prj_b", keyRevoked{ID: keyB}), on("prj_a", limitsSet{map[string]Limit{limitEvents: Is(7)}}),
	)
	const keyC = "CCCCCCCCCCCC"
	fresh := newKey{id: keyC, scopes: httpapi.ScopeRead}
	created := fresh.fact()
	named := func(name string) newKey { k := fresh; k.title = name; return k }
	for _, c := range []struct {
		name string
		cmd  command
		want []fact
		code httpapi.Code // "" when not refused
	}{
		{"create a project", createProject{id: "prj_c", title: "three", sealed: "s", key: fresh}, []fact{projectCreated{"three"}, secretSet{"s"}, created}, ""},
		{"create, name taken elsewhere", createProject{id: "prj_c", title: "one", sealed: "s", key: fresh}, []fact{projectCreated{"one"}, secretSet{"s"}, created}, ""},
		{"create, no name", createProject{id: "prj_c", title: " \t"}, nil, httpapi.CodeInvalidRequest},
		{"create, long name", createProject{id: "prj_c", title: strings.Repeat("é", 101)}, nil, httpapi.CodeInvalidRequest},
		{"create, control character", createProject{id: "prj_c", title: "a\x00b"}, nil, httpapi.CodeInvalidRequest},
		{"create, a key as name", createProject{id: "prj_c", title: newAPIKey().text.Reveal()}, nil, httpapi.CodeInvalidRequest},
		{"create, a secret as name", createProject{id: "prj_c", title: newWebhookSecret().Reveal()}, nil, httpapi.CodeInvalidRequest},
		{"create, id taken", createProject{id: "prj_a", title: "x", key: fresh}, nil, httpapi.CodeConflict},
		{"create, key id taken", createProject{id: "prj_c", title: "x", key: newKey{id: keyA}}, nil, httpapi.CodeConflict},

		{"rename", changeProject{id: "prj_a", title: ptr("x")}, []fact{projectRenamed{"x"}}, ""},
		{"rename to the same", changeProject{id: "prj_a", title: ptr("one")}, nil, ""},
		{"rename to nothing", changeProject{id: "prj_a", title: ptr("")}, nil, httpapi.CodeInvalidRequest},
		{"change nothing", changeProject{id: "prj_a"}, nil, ""},
		{"change an unknown one", changeProject{id: "prj_c"}, nil, httpapi.CodeNotFound},
		{"operator", changeProject{id: "prj_a", operator: ptr(true)}, []fact{operatorSet{true}}, ""},
		{"operator already", changeProject{id: "prj_b", operator: ptr(true)}, nil, ""},
		{"limits", changeProject{id: "prj_a", limits: map[string]Limit{limitEvents: Is(0), limitBytes: Is(1024)}}, []fact{limitsSet{map[string]Limit{limitEvents: Is(0), limitBytes: Is(1024)}}}, ""},
		{"limits, only what differs", changeProject{id: "prj_a", limits: map[string]Limit{limitEvents: Is(7), limitBatches: Is(1)}}, []fact{limitsSet{map[string]Limit{limitBatches: Is(1)}}}, ""},
		{"limits to the default", changeProject{id: "prj_a", limits: map[string]Limit{limitEvents: {}}}, []fact{limitsSet{map[string]Limit{limitEvents: {}}}}, ""},
		{"limits below zero", changeProject{id: "prj_a", limits: map[string]Limit{limitEvents: Is(-1)}}, nil, httpapi.CodeInvalidRequest},
		{"no batch fits", changeProject{id: "prj_a", limits: map[string]Limit{limitBytes: Is(0)}}, nil, httpapi.CodeInvalidRequest},

		{"create a key", createKey{"prj_a", named("ci"), httpapi.ScopeAll}, []fact{named("ci").fact()}, ""},
		{"create a key, no name", createKey{"prj_a", fresh, httpapi.ScopeAll}, []fact{created}, ""},
		{"create a key, no scope", createKey{"prj_a", newKey{id: keyC}, httpapi.ScopeAll}, nil, httpapi.CodeInvalidRequest},
		{"create a key with more than one has", createKey{"prj_a", fresh, httpapi.ScopeManage}, nil, httpapi.CodeForbidden},
		{"create a key, unknown project", createKey{"prj_c", fresh, httpapi.ScopeAll}, nil, httpapi.CodeNotFound},
		{"create a key, long name", createKey{"prj_a", named(strings.Repeat("x", 101)), httpapi.ScopeAll}, nil, httpapi.CodeInvalidRequest},
		{"create a key, id taken", createKey{"prj_a", newKey{id: keyB, scopes: 1}, httpapi.ScopeAll}, nil, httpapi.CodeConflict},

		{"revoke the last manage key", revokeKey{"prj_a", keyA}, []fact{keyRevoked{keyA}}, ""},
		{"revoke again", revokeKey{"prj_b", keyB}, nil, ""},
		{"revoke an unknown key", revokeKey{"prj_a", keyC}, nil, httpapi.CodeNotFound},
		{"revoke another project's key", revokeKey{"prj_b", keyA}, nil, httpapi.CodeNotFound},

		{"tenant limit", tenantLimit{"prj_b", "prj_a", 9}, []fact{limitsSet{map[string]Limit{limitEvents: Is(9)}}}, ""},
		{"tenant limit already so", tenantLimit{"prj_b", "prj_a", 7}, nil, ""},
		{"tenant limit from no operator", tenantLimit{"prj_a", "prj_b", 9}, nil, httpapi.CodeForbidden},
		{"tenant limit from nobody", tenantLimit{"prj_c", "prj_a", 9}, nil, httpapi.CodeForbidden},
		{"tenant limit for nobody", tenantLimit{"prj_b", "prj_c", 9}, nil, httpapi.CodeNotFound},
		{"tenant limit below zero", tenantLimit{"prj_b", "prj_a", -9}, nil, httpapi.CodeInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.cmd.decide(s)
			if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.code == "") {
				t.Fatalf("got %+v, %v", got, err)
			}
			if err != nil && httpapi.ProblemOf(err).Code != c.code {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

func TestDecideBoundsKeys(t *testing.T) {
	s := stateOf(t, on("prj_a", projectCreated{Name: "one"}))
	s.projects["prj_a"].keys = make([]string, maxProjectKeys)
	_, err := createKey{"prj_a", newKey{id: keyA, scopes: 1}, httpapi.ScopeAll}.decide(s)
	if err == nil || httpapi.ProblemOf(err).Code != httpapi.CodeConflict {
		t.Errorf("got %v", err)
	}
}
