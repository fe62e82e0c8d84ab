package webhooks

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"weir/internal/httpapi"
	"weir/webhooks/signing"
)

// Why an attempt's signature could not be found right.
const (
	unsigned       = "unsigned"       // nothing was signed: an internal endpoint, or reported by an integration
	keyUnknown     = "key_unknown"    // the endpoint was deleted, or rotated more than a hundred times since
	payloadGone    = "payload_gone"   // the log no longer has what was delivered
	wrongSignature = "does_not_match" // the key that is named did not make the signature
)

type verification struct {
	DeliveryID string     `json:"delivery_id"`
	Number     int        `json:"number"`
	Verified   bool       `json:"verified"`
	Reason     *string    `json:"reason"`
	KeyID      *string    `json:"key_id"`
	SignedAt   *time.Time `json:"signed_at"`
}

// verify makes the signature of a past attempt again, from the log's payload and the
// key that the history names, and says whether the one that was sent is it.
func (a *API) verify(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	number, err := strconv.Atoi(chi.URLParam(r, "number"))
	if err != nil || number < 1 {
		return httpapi.NotFound("attempt")
	}
	past, known, err := a.cfg.History.Attempt(r.Context(), httpapi.PrincipalFrom(r.Context()).ProjectID, id, number)
	if err != nil {
		return err
	}
	if !known {
		return httpapi.NotFound("attempt")
	}
	v := verification{DeliveryID: id, Number: number}
	reason, err := a.verified(r, past, &v)
	if err != nil {
		return err
	}
	if v.Verified = reason == ""; !v.Verified {
		v.Reason = &reason
	}
	httpapi.WriteJSON(w, http.StatusOK, v)
	return nil
}

// verified fills in v and says why not; "" when the signature is right.
func (a *API) verified(r *http.Request, past PastAttempt, v *verification) (reason string, err error) {
	h := http.Header{}
	for name, value := range past.Headers {
		h.Set(name, value)
	}
	seconds, err := strconv.ParseInt(h.Get(signing.HeaderTimestamp), 10, 64)
	if past.KeyID == "" || err != nil {
		return unsigned, nil
	}
	at := time.Unix(seconds, 0).UTC()
	v.KeyID, v.SignedAt = &past.KeyID, &at
	key, known, err := a.cfg.Key(past.EndpointID, past.KeyID)
	if err != nil {
		return "", httpapi.Errorf(httpapi.CodeInternal, "the key cannot be opened with this server's master key").Because(err)
	}
	ep, exists, _ := a.cfg.Decider.dir.Endpoint(past.EndpointID)
	if !known || !exists {
		return keyUnknown, nil
	}
	records, err := find(r.Context(), a.cfg.Log, []string{v.DeliveryID})
	if err != nil {
		return "", logError(err)
	}
	rec := records[v.DeliveryID]
	if rec == nil {
		return payloadGone, nil
	}
	if signing.Verify(h, format(ep.Kind, rec), key, at) != nil {
		return wrongSignature, nil
	}
	return "", nil
}
