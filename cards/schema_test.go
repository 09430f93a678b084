package cards_test

import (
	"slices"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"parley/cards"
)

// The protocol's own protobuf schema is the judge: it refuses unknown fields
// and says which ones a card must have.
func TestJSONFitsSchema(t *testing.T) {
	t.Parallel()
	for _, card := range cards.All(base, version) {
		t.Run(card.Name, func(t *testing.T) {
			t.Parallel()
			extended, err := cards.WithExamples(card, []cards.Example{{Text: "How many orders came in May?", Namespace: "alice/shop"}})
			if err != nil {
				t.Fatal(err)
			}
			var parsed a2apb.AgentCard
			if err := protojson.Unmarshal(cardJSON(t, extended), &parsed); err != nil {
				t.Fatalf("read as proto3-JSON: %v", err)
			}
			checkRequired(t, parsed.ProtoReflect())

			scheme := parsed.GetSecuritySchemes()["bearer"].GetHttpAuthSecurityScheme()
			if scheme.GetScheme() != "bearer" || scheme.GetBearerFormat() != "JWT" {
				t.Errorf("security scheme = %v", scheme)
			}
			if reqs := parsed.GetSecurityRequirements(); len(reqs) != 1 || reqs[0].GetSchemes()["bearer"] == nil {
				t.Errorf("security requirements = %v", reqs)
			}
			if got := parsed.GetSkills()[0].GetExamples(); len(got) != 1 {
				t.Errorf("examples = %q", got)
			}
		})
	}
}

// A client of the SDK that reads cards as docs/a2a/go.md says gets what was written.
func TestJSONIsReadByClients(t *testing.T) {
	t.Parallel()
	for _, card := range cards.All(base, version) {
		want := cardJSON(t, card)
		var parsed a2apb.AgentCard
		if err := protojson.Unmarshal(want, &parsed); err != nil {
			t.Fatal(err)
		}
		read, err := pbconv.FromProtoAgentCard(&parsed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(cardJSON(t, read))); diff != "" {
			t.Errorf("%s (- want, + as it was read):\n%s", card.Name, diff)
		}
	}
}

// checkRequired reports each field that the schema marks as required and that
// msg, or a message within it, leaves empty.
func checkRequired(t *testing.T, msg protoreflect.Message) {
	t.Helper()
	fields := msg.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		behavior, _ := proto.GetExtension(field.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		if slices.Contains(behavior, annotations.FieldBehavior_REQUIRED) && !msg.Has(field) {
			t.Errorf("required field %s is empty", field.FullName())
		}
	}
	msg.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsMap():
			if field.MapValue().Message() == nil {
				break
			}
			value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				checkRequired(t, value.Message())
				return true
			})
		case field.IsList():
			for i := range value.List().Len() {
				checkRequired(t, value.List().Get(i).Message())
			}
		default:
			checkRequired(t, value.Message())
		}
		return true
	})
}
