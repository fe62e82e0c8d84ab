package httpapi

import "net/http"

// Code is the stable name of a kind of error, the same in every release:
// clients branch on it, never on a title or detail.
type Code string

// Every code the API answers with. The status and title of each stand in one place, taxonomy.
const (
	CodeUnauthorized       Code = "unauthorized"
	CodeForbidden          Code = "forbidden"
	CodeBadSignature       Code = "bad_signature"
	CodeNotFound           Code = "not_found"
	CodeMethodNotAllowed   Code = "method_not_allowed"
	CodeConflict           Code = "conflict"
	CodeInvalidJSON        Code = "invalid_json"
	CodeInvalidRequest     Code = "invalid_request"
	CodeInvalidParameter   Code = "invalid_parameter"
	CodeInvalidContentType Code = "invalid_content_type"
	CodeInvalidEncoding    Code = "invalid_encoding"
	CodeInvalidIdempotency Code = "invalid_idempotency_key"
	CodeIdempotencyInUse   Code = "idempotency_key_in_use"
	CodeEventsMissing      Code = "events_missing"
	CodeBatchTooLarge      Code = "batch_too_large"
	CodeEventsTooLarge     Code = "events_too_large"
	CodeBodyTooLarge       Code = "body_too_large"
	CodeRateLimited        Code = "rate_limited"
	CodeOverloaded         Code = "overloaded"
	CodeUnavailable        Code = "unavailable"
	CodeNoReadModel        Code = "read_model_unavailable"
	CodeNotYetVisible      Code = "not_yet_visible"
	CodeCanceled           Code = "canceled"
	CodeInternal           Code = "internal"
)

type kind struct {
	status int
	title  string
}

// taxonomy is the only table from error to status.
var taxonomy = map[Code]kind{
	CodeUnauthorized:       {http.StatusUnauthorized, "The bearer key is missing or invalid"},
	CodeForbidden:          {http.StatusForbidden, "The key does not allow this"},
	CodeBadSignature:       {http.StatusForbidden, "The signature does not match"},
	CodeNotFound:           {http.StatusNotFound, "There is no such resource"},
	CodeMethodNotAllowed:   {http.StatusMethodNotAllowed, "The resource does not take this method"},
	CodeConflict:           {http.StatusConflict, "The request conflicts with the current state"},
	CodeInvalidJSON:        {http.StatusBadRequest, "The body is not valid JSON"},
	CodeInvalidRequest:     {http.StatusBadRequest, "The request is not valid"},
	CodeInvalidParameter:   {http.StatusBadRequest, "A parameter is not valid"},
	CodeInvalidContentType: {http.StatusBadRequest, "The content type must be application/json"},
	CodeInvalidEncoding:    {http.StatusBadRequest, "The content encoding is not supported or is broken"},
	CodeInvalidIdempotency: {http.StatusBadRequest, "The idempotency key must be a UUID"},
	CodeIdempotencyInUse:   {http.StatusBadRequest, "The idempotency key belongs to another batch"},
	CodeEventsMissing:      {http.StatusBadRequest, "The batch has no events array"},
	CodeBatchTooLarge:      {http.StatusRequestEntityTooLarge, "The batch is too large"},
	CodeEventsTooLarge:     {http.StatusRequestEntityTooLarge, "The events of one type are too large for the log"},
	CodeBodyTooLarge:       {http.StatusRequestEntityTooLarge, "The body is too large"},
	CodeRateLimited:        {http.StatusTooManyRequests, "The project's rate limit is reached"},
	CodeOverloaded:         {http.StatusServiceUnavailable, "The portal is shedding load"},
	CodeUnavailable:        {http.StatusServiceUnavailable, "A part of the portal is not available"},
	CodeNoReadModel:        {http.StatusServiceUnavailable, "The read model does not answer"},
	CodeNotYetVisible:      {http.StatusServiceUnavailable, "The read model has not reached the asked position"},
	CodeCanceled:           {statusClientClosed, "The client ended the request"},
	CodeInternal:           {http.StatusInternalServerError, "Something went wrong inside the portal"},
}

// statusClientClosed never reaches anybody (the client is gone); it keeps
// such requests apart in logs and metrics.
const statusClientClosed = 499

// Status returns the HTTP status of a code; 500 for one that is not in the table.
func (c Code) Status() int { return kindOf(c).status }

func kindOf(c Code) kind {
	if k, ok := taxonomy[c]; ok {
		return k
	}
	return taxonomy[CodeInternal]
}
