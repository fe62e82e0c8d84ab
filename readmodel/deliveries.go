package readmodel

var deliveryStatuses = []string{"pending", "succeeded", "retrying", "exhausted", "canceled"}

// DeliveriesQuery reads one page of webhook deliveries, the newest first by
// when they were made, which never changes (attempts would move them).
type DeliveriesQuery struct {
	Project  string
	Endpoint string   // "": every endpoint
	Statuses []string // any of them; none: all
	After    *deliveryKey
	Limit    int
}

// deliveryKey is the place of a delivery in the order, and the content of a cursor.
type deliveryKey struct {
	Created int64  `json:"c"` // nanoseconds since 1970
	ID      string `json:"d"`
}

const deliveryColumns = "delivery_id, made, attempts, first_at, last_at, newest.endpoint_id, newest.destination, newest.url, newest.event_type, newest.status, newest.status_code"

// merged are the deliveries that satisfy the conditions so far, each as one row.
func (b *builder) merged() string {
	return "(SELECT project_id, delivery_id, toUnixTimestamp64Nano(min(created_at)) AS made, toInt64(sum(attempt_count)) AS attempts, " +
		"toUnixTimestamp64Nano(min(first_attempt_at)) AS first_at, toUnixTimestamp64Nano(max(last_attempt_at)) AS last_at, " +
		"max(latest) AS newest FROM deliveries WHERE " + b.conditions() + " GROUP BY project_id, delivery_id)"
}

// statement chooses the page's deliveries by what is cheap to read, and merges
// the rows of those only: all that a list shows of 250,000 deliveries takes
// seven times as long to merge as their ids and times.
func (q DeliveriesQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	mine := b.conditions()
	switch {
	case len(q.Statuses) > 0:
		// A delivery's status is in one of its rows; that it is the newest is looked at below.
		b.where("delivery_id IN (SELECT delivery_id FROM deliveries WHERE " + mine + " AND latest.status IN " + b.texts(q.Statuses) + ")")
	case q.Endpoint == "":
		b.where("delivery_id IN (" + q.ids(&b, mine) + ")")
	}
	from := b.merged()
	b.conds = nil
	b.equal("newest.endpoint_id", q.Endpoint)
	if len(q.Statuses) > 0 {
		b.where("newest.status IN " + b.texts(q.Statuses))
	}
	if q.After != nil {
		b.where("(made, delivery_id) < " + q.After.placed(&b))
	}
	return b.statement("SELECT project_id,", deliveryColumns, "FROM", from, "WHERE", b.conditions(),
		"ORDER BY made DESC, delivery_id DESC", b.page(q.Limit))
}

// ids is the query of the page's delivery ids, where nothing but the time chooses them.
func (q DeliveriesQuery) ids(b *builder, mine string) string {
	after := ""
	if q.After != nil {
		after = " HAVING (toUnixTimestamp64Nano(min(created_at)), delivery_id) < " + q.After.placed(b)
	}
	return "SELECT delivery_id FROM deliveries WHERE " + mine + " GROUP BY delivery_id" + after +
		" ORDER BY min(created_at) DESC, delivery_id DESC " + b.page(q.Limit)
}

func (k deliveryKey) placed(b *builder) string {
	return "(" + b.arg("Int64", k.Created) + ", " + b.text(k.ID) + ")"
}

// DeliveryQuery reads one delivery. Project is "" for the admin, who need not name it.
type DeliveryQuery struct {
	Project string
	ID      string
}

func (q DeliveryQuery) statement() Statement {
	var b builder
	b.equal("project_id", q.Project)
	b.where("delivery_id = " + b.text(q.ID))
	return b.statement("SELECT project_id,", deliveryColumns, "FROM", b.merged(), "LIMIT 1")
}

// maxAttempts is how many attempts of one delivery are shown: the latest.
// The schedule has far fewer; only redelivering by hand makes more.
const maxAttempts = 500

// AttemptsQuery reads the attempts of one delivery, in their order.
type AttemptsQuery struct {
	Project string
	ID      string
}

func (q AttemptsQuery) statement() Statement {
	var b builder
	b.where("project_id = " + b.text(q.Project))
	b.where("delivery_id = " + b.text(q.ID))
	inner := "SELECT number, toUnixTimestamp64Nano(started_at) AS at, lower(hex(event_id)) AS id, toString(status) AS outcome, status_code, " +
		"toString(failure) AS code, duration_ms, key_id, endpoint_version, request_headers, response_headers, response_body " +
		"FROM delivery_attempts WHERE " + b.conditions() + " ORDER BY number DESC, started_at DESC, event_id DESC LIMIT 1 BY event_id LIMIT " + b.arg("UInt32", maxAttempts)
	return b.statement(b.bounded("number, at, id, outcome, status_code, code, duration_ms, key_id, endpoint_version, request_headers, response_headers, response_body",
		"length(request_headers) + length(response_headers) + length(response_body)", inner, "number DESC, at DESC, id DESC"))
}
