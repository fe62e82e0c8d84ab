package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"weir/readmodel/tables"
)

// Checks keeps what verifications and proofs found where every process of the
// installation can read it. Its methods may be called at once.
type Checks struct {
	ClickHouse driver.Conn
	Tables     tables.Options
}

// Check is one of them as it was last told.
type Check struct {
	ID    string // the greater one began later
	State string
	Body  []byte
	// Silent is how long ago it was last told, by ClickHouse's clock.
	Silent time.Duration
}

// Save tells how far a check is. It makes the table if it is not there.
func (c Checks) Save(ctx context.Context, kind, name string, check Check) error {
	if err := MakeShared(ctx, c.ClickHouse, c.Tables); err != nil {
		return err
	}
	insert := clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	err := c.ClickHouse.Exec(insert, "INSERT INTO checks (kind, name, id, latest) SELECT ?, ?, ?, (now64(3, 'UTC'), ?, ?)", kind, name, check.ID, check.State, string(check.Body))
	if err != nil {
		return fmt.Errorf("keeping the result of %s %s: %w", kind, name, err)
	}
	return nil
}

// Last is the newest check of a name; false when there is none.
func (c Checks) Last(ctx context.Context, kind, name string) (Check, bool, error) {
	ctx, cancel := steady(ctx)
	defer cancel()
	rows, err := c.ClickHouse.Query(ctx, "SELECT id, tupleElement(max(latest) AS m, 2), tupleElement(m, 3), toInt64(dateDiff('millisecond', tupleElement(m, 1), now64(3, 'UTC'))) "+
		"FROM checks WHERE kind = ? AND name = ? GROUP BY id ORDER BY id DESC LIMIT 1", kind, name)
	var e *clickhouse.Exception
	if errors.As(err, &e) && e.Code == codeUnknownTable {
		return Check{}, false, nil
	}
	if err != nil {
		return Check{}, false, fmt.Errorf("reading the last %s of %s: %w", kind, name, err)
	}
	defer rows.Close()
	var check Check
	found := false
	for rows.Next() {
		var body string
		var silent int64
		if err := rows.Scan(&check.ID, &check.State, &body, &silent); err != nil {
			return Check{}, false, fmt.Errorf("reading the last %s of %s: %w", kind, name, err)
		}
		found, check.Body, check.Silent = true, []byte(body), time.Duration(silent)*time.Millisecond
	}
	return check, found, rows.Err()
}
