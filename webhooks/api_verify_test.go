package webhooks

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/webhooks/signing"
)

// A past attempt is verified with the key that signed it, after rotations too, and no
// secret is shown.
func TestPastAttemptsVerify(t *testing.T) {
	log := openLog(t, startBroker(t))
	b := newBook()
	r := newReceiver(t, nil)
	b.add("ep_1", KindHTTP, r.URL)
	b.add("ep_chat", KindSlack, r.URL)
	b.add("ep_feed", KindInternal, "")
	l := startLane(t, log, b)
	ids := decide(t, l.Decider(), 1, Occasion{Type: "deploy.done"})
	sent := shelf{}
	for id, attempts := range await(t, log, ids...) {
		a := attempts[0]
		sent[id] = kept{Past{ID: id, ProjectID: "prj", EndpointID: a.EndpointID}, PastAttempt{EndpointID: a.EndpointID, KeyID: a.KeyID, Headers: a.RequestHeaders}}
	}
	known := map[string]signing.Key{"whk_1": testKey(1), "whk_2": testKey(2)} // whk_1 was rotated away
	router := chi.NewRouter()
	NewAPI(APIConfig{Log: log, Decider: l.Decider(), Auth: keys{}, History: sent, Key: func(_, id string) (signing.Key, bool, error) {
		k, ok := known[id]
		return k, ok, nil
	}}).Routes(router)
	ask := func(bearer, id, number string) (int, verification) {
		req := httptest.NewRequest(http.MethodGet, "/api/webhooks/deliveries/"+id+"/attempts/"+number+"/verification", nil)
		req.Header.Set("Authorization", "Bearer "+bearer)
		w := httptest.NewRecorder()
		router.ServeHTTP(w, req)
		var v verification
		_ = json.Unmarshal(w.Body.Bytes(), &v)
		return w.Code, v
	}
	var signed string
	for id, past := range sent {
		code, v := ask("prj", id, "1")
		if past.EndpointID == "ep_feed" {
			if code != http.StatusOK || v.Verified || *v.Reason != unsigned {
				t.Errorf("internal: %d %+v", code, v)
			}
			continue
		}
		signed = id
		if code != http.StatusOK || !v.Verified || v.Reason != nil || *v.KeyID != "whk_1" || time.Since(*v.SignedAt) > time.Hour {
			t.Errorf("%s: %d %+v", past.EndpointID, code, v)
		}
	}
	for _, c := range [][2]string{{signed, "2"}, {signed, "0"}, {signed, "x"}, {"dlv_x", "1"}} {
		if code, _ := ask("prj", c[0], c[1]); code != http.StatusNotFound {
			t.Errorf("%v: %d", c, code)
		}
	}
	if code, _ := ask("other", signed, "1"); code != http.StatusNotFound {
		t.Errorf("another project: %d", code)
	}
	known["whk_1"] = testKey(3)
	if _, v := ask("prj", signed, "1"); v.Verified || *v.Reason != wrongSignature {
		t.Errorf("another key: %+v", v)
	}
	delete(known, "whk_1")
	if _, v := ask("prj", signed, "1"); v.Verified || *v.Reason != keyUnknown {
		t.Errorf("no key: %+v", v)
	}
}
