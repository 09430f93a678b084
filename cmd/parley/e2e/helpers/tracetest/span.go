package tracetest

import (
	"encoding/hex"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
)

// Span is a span as it was sent, with its ids in hex.
type Span struct {
	TraceID, ID, ParentID string
	Name, Kind            string
	Failed                bool
	StatusMessage         string
	Attributes            map[string]any
	Resource              map[string]any
}

func spansOf(request *collector.ExportTraceServiceRequest) []Span {
	var spans []Span
	for _, of := range request.GetResourceSpans() {
		resource := attributes(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				spans = append(spans, Span{
					TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					ParentID: hex.EncodeToString(s.GetParentSpanId()),
					Name:     s.GetName(), Kind: s.GetKind().String(),
					Failed: s.GetStatus().GetCode().String() == "STATUS_CODE_ERROR", StatusMessage: s.GetStatus().GetMessage(),
					Attributes: attributes(s.GetAttributes()), Resource: resource,
				})
			}
		}
	}
	return spans
}

func attributes(list []*common.KeyValue) map[string]any {
	values := map[string]any{}
	for _, attribute := range list {
		switch value := attribute.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			values[attribute.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			values[attribute.GetKey()] = value.IntValue
		case *common.AnyValue_BoolValue:
			values[attribute.GetKey()] = value.BoolValue
		default:
			values[attribute.GetKey()] = value
		}
	}
	return values
}
