package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/client"
)

// listAll reads every page of a list.
func listAll[T any](ctx context.Context, server *client.Client, path string, query url.Values) ([]T, error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", "200")
	all := []T{}
	for {
		var page struct {
			Data       []T     `json:"data"`
			NextCursor *string `json:"next_cursor"`
		}
		if err := server.Call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if page.NextCursor == nil {
			return all, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// row writes the cells of one line of a table.
func row(w io.Writer, cells ...string) {
	_, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n")
}
