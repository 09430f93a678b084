package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"parley/internal/domain"
)

// namedNamespace returns the namespace that a request names: in the metadata of the message,
// in the payload of the namespace extension, in the metadata of the request, or as the
// tenant. It is zero when none does.
func (s *agentService) namedNamespace(who domain.Caller, request *a2a.SendMessageRequest) (domain.NamespaceRef, error) {
	extension := s.host.cfg.NamespaceExtension
	inMessage := domain.Settings{Where: "message.metadata", Values: request.Message.Metadata}
	inExtension := domain.Settings{Where: fmt.Sprintf("message.metadata[%q]", extension)}
	var ok bool
	if inExtension.Values, ok = request.Message.Metadata[extension].(map[string]any); !ok && request.Message.Metadata[extension] != nil {
		return domain.NamespaceRef{}, invalidField(inExtension.Where, "must be an object")
	}
	ref, err := domain.ReadNamespace(who, inMessage, inExtension, domain.Settings{Where: "metadata", Values: request.Metadata})
	if err != nil || ref != (domain.NamespaceRef{}) {
		return ref, err
	}
	return tenantNamespace(who, request.Tenant)
}

type pathTenantKey struct{}

// withPathTenant returns a context with the tenant that the path of a request names.
func withPathTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, pathTenantKey{}, tenant)
}

// tenantOf returns the tenant that a request, or its path, names; "" for none.
func tenantOf(ctx context.Context, tenant string) string {
	path, _ := ctx.Value(pathTenantKey{}).(string)
	return cmp.Or(tenant, path)
}

// withTenant returns a request with the tenant that its path names, if it names none itself:
// it is part of what the message says.
func withTenant(ctx context.Context, request *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	named := *request
	named.Tenant = tenantOf(ctx, named.Tenant)
	return &named
}

// tenantNamespace returns the namespace that a tenant names; zero for none.
func tenantNamespace(who domain.Caller, tenant string) (domain.NamespaceRef, error) {
	if tenant == "" {
		return domain.NamespaceRef{}, nil
	}
	ref, ok := domain.ParseNamespace(who, tenant)
	if !ok {
		return ref, invalidField("tenant", "must be a namespace, or owner/namespace")
	}
	return ref, nil
}

// infer finds the namespace of a question by its text; zero if there is none.
func (s *agentService) infer(ctx context.Context, question *domain.Question, files bool, readable []domain.NamespaceRef) (found domain.NamespaceRef, err error) {
	cfg := s.host.cfg
	address, named := domain.FindAddress(question.Caller, question.Text, readable)
	if cfg.NamedNamespace == nil || !named && (!question.NeverAsk || files) {
		return found, nil
	}
	slot, err := s.host.inferring.Acquire(question.Caller.Username)
	if err != nil {
		return found, err
	}
	defer slot.Release()
	if err := slot.Wait(ctx); err != nil {
		return found, err
	}
	if named {
		found, err = cfg.NamedNamespace(ctx, question.Caller, address, readable)
		if err != nil || found != (domain.NamespaceRef{}) || !question.NeverAsk || files {
			return found, err
		}
	}
	return cfg.BestNamespace(ctx, question.Caller, question.Text, readable)
}

// resolve finds where to create a run and sets it in the question. A question that names no
// namespace is asked of the namespace of its conversation, of one that its text names, or of
// the only one that the caller can read; when there are several, it returns them as options and
// sets no namespace, or takes the one that fits best. One with files, or in a conversation that
// has only files, needs none.
func (s *agentService) resolve(ctx context.Context, question *domain.Question, files bool) ([]domain.NamespaceRef, error) {
	log, none := s.host.cfg.Log, domain.NamespaceRef{}
	found := question.Namespace != none
	if !found && question.ConversationID != "" {
		ref, err := log.ConversationNamespace(ctx, question.Caller, question.ConversationID)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return nil, err
		}
		question.Namespace, found = ref, err == nil
	}
	if found {
		return nil, log.ResolveRun(ctx, question)
	}
	options, err := log.Namespaces(ctx, question.Caller, "")
	if err == nil && len(options) > 1 {
		question.Namespace, err = s.infer(ctx, question, files, options)
	}
	switch {
	case err != nil:
		return nil, err
	case question.Namespace != none:
		question.Inferred = true
		return nil, log.ResolveRun(ctx, question)
	case files && (len(options) == 0 || len(options) > 1 && question.NeverAsk):
		return nil, log.ResolveRun(ctx, question)
	case len(options) == 0:
		return nil, invalidParams("there is no namespace that you can read; upload data first, or attach a file to the question")
	case len(options) > 1 && question.NeverAsk:
		return nil, invalidField("message.metadata.namespace", "is required: you can read several namespaces, none of them fits the question, and metadata.neverAsk is set")
	}
	question.Namespace = options[0]
	if err := log.ResolveRun(ctx, question); err != nil || len(options) == 1 {
		return nil, err
	}
	question.Namespace, question.NamespaceID = none, ""
	isOthers := func(ref domain.NamespaceRef) int {
		if ref.Owner == question.Caller.Username {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(options, func(a, b domain.NamespaceRef) int { return isOthers(a) - isOthers(b) }) // one's own first
	return options, nil
}

// maxNamespaceOptions is how many namespaces are offered as an answer. Others can be named.
const maxNamespaceOptions = 50

// namespaceInput is the name of the input that chooses a namespace.
const namespaceInput = "namespace"

// askNamespace makes the message that asks which namespace a question is about.
func askNamespace(info a2a.TaskInfo, options []domain.NamespaceRef) *a2a.Message {
	input := domain.Input{Name: namespaceInput, Question: "Which namespace is this question about?"}
	for _, option := range options[:min(len(options), maxNamespaceOptions)] {
		input.Options = append(input.Options, domain.InputOption{ID: option.String(), Label: option.String()})
	}
	return inputMessage(info, input)
}

// answeredNamespace returns the namespace that an answer to askNamespace names, or the number
// of which in what was offered.
func (s *agentService) answeredNamespace(ctx context.Context, who domain.Caller, offered *domain.Input, request *a2a.SendMessageRequest) (domain.NamespaceRef, error) {
	ref, err := s.namedNamespace(who, request)
	if err != nil || ref != (domain.NamespaceRef{}) {
		return ref, err
	}
	text := strings.TrimSpace(messageText(request.Message))
	options, err := s.host.cfg.Log.Namespaces(ctx, who, "")
	if err != nil {
		return ref, err
	}
	var named []domain.NamespaceRef
	for _, option := range options {
		switch {
		case strings.EqualFold(option.String(), text):
			return option, nil
		case strings.EqualFold(option.Name, text):
			named = append(named, option)
		}
	}
	// The text of the question numbers the options: a number is no name.
	if n, err := strconv.Atoi(strings.TrimRight(text, ".)")); err == nil && n >= 1 && n <= len(offered.Options) {
		if ref, ok := domain.ParseNamespace(who, offered.Options[n-1].ID); ok {
			return ref, nil
		}
	}
	if len(named) == 1 {
		return named[0], nil
	}
	return ref, invalidParams("the answer must be one of the namespaces that the task offers, as owner/namespace")
}

// conversationID returns the conversation of a context. A context id that is not a UUID names
// a conversation of this user with this agent, whose id is derived from it.
func conversationID(who domain.Caller, agent, contextID string) (string, error) {
	if contextID == "" {
		return "", nil
	}
	if len(contextID) > maxContextID {
		return "", invalidField("message.contextId", "must be at most %d bytes", maxContextID)
	}
	if problem := domain.CheckText(contextID, maxContextID); problem != "" {
		return "", invalidField("message.contextId", "%s", problem)
	}
	if id, err := readID(contextID); err == nil {
		return id, nil
	}
	return uuid.NewSHA1(contextSpace, []byte(who.Username+"\x00"+agent+"\x00"+contextID)).String(), nil
}

// maxContextID is the longest context id, in bytes.
const maxContextID = 256

// contextSpace is the UUID namespace of the conversations that conversationID derives.
var contextSpace = uuid.MustParse("6f0d7a2e-3d0b-4a38-9a53-5b6f6c1f0f7e")
