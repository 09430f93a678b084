package agents

import (
	"context"
	"fmt"

	"parley/storage"
)

// maxExamples limits the example questions of a card.
const maxExamples = 5

// DatasetList lists the datasets that a caller may read.
type DatasetList interface {
	Datasets(ctx context.Context, caller storage.Caller) ([]storage.Dataset, error)
}

// Examples gives example questions about datasets that the caller may read.
func Examples(ctx context.Context, list DatasetList, caller storage.Caller) ([]string, error) {
	datasets, err := list.Datasets(ctx, caller)
	if err != nil {
		return nil, err
	}
	examples := make([]string, 0, maxExamples)
	for _, d := range datasets[:min(len(datasets), maxExamples)] {
		examples = append(examples, fmt.Sprintf("How many %s are there? (namespace %s/%s)", d.Name, d.Owner, d.Namespace))
	}
	return examples, nil
}
