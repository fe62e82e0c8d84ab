package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Groups lists the names of all consumer groups that begin with prefix, sorted.
// The error is ErrUnavailable.
func (l *Log) Groups(ctx context.Context, prefix string) ([]string, error) {
	response, err := l.client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err == nil {
		err = response.Error
	}
	if err != nil {
		return nil, fmt.Errorf("%w: list groups: %w", ErrUnavailable, err)
	}
	var names []string
	for _, g := range response.Groups {
		if strings.HasPrefix(g.GroupID, prefix) {
			names = append(names, g.GroupID)
		}
	}
	slices.Sort(names)
	return names, nil
}

// DeleteGroup forgets a group with all its checkpoints. A group that does not
// exist is no error; one that has members is.
func (l *Log) DeleteGroup(ctx context.Context, group string) error {
	response, err := l.client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return fmt.Errorf("%w: delete group %s: %w", ErrUnavailable, group, err)
	}
	err = response.Errors[group]
	if err == nil || errors.Is(err, kafka.GroupIdNotFound) {
		return nil
	}
	return fmt.Errorf("delete group %s: %w", group, err)
}
