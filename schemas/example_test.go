package schemas_test

import (
	"fmt"

	"weir/schemas"
)

func ExampleBatch_Parse() {
	body := []byte(`{"events":[
		{"type":"deploy","ts":"2026-11-20T09:30:00Z","data":{"service":"checkout","version":"2.31.0"}},
		{"type":"audit","ts":"2026-11-20T09:30:01Z","data":{"action":"user.update"}}
	]}`)
	var batch schemas.Batch
	if err := batch.Parse(body); err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range batch.Events {
		fmt.Println(e.Index, e.Type, len(e.Raw), "bytes")
	}
	for _, r := range batch.Rejected {
		fmt.Println(r.Index, r.Reason)
	}
	// Output:
	// 0 deploy 94 bytes
	// 1 data.actor: required
}

func ExampleOpen() {
	raw := []byte(`{"type":"cost","ts":"2026-11-20T09:30:00Z","data":{"service":"ec2","amount":12.3,"currency":"eur"}}`)
	event, err := schemas.Open(raw)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = schemas.Members(event.Data, func(name, value []byte) bool {
		switch string(name) {
		case "amount":
			amount, err := schemas.ParseDecimal(value)
			fmt.Println(amount, err)
		case "currency":
			fmt.Println(schemas.CurrencyCode(value))
		}
		return true
	})
	fmt.Println(event.Type, err)
	// Output:
	// 12.30 <nil>
	// EUR true
	// cost <nil>
}
