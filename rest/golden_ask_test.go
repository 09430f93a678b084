package rest_test

// The scripts of what agents have a part in.
const (
	resumeScript = `
# A run that goes on is told of from its start.
alice POST /query/runs/{running}/resume
alice POST /query/runs/{running}/resume {"anything":"goes"}
# One that has ended is not.
alice POST /query/runs/{completed}/resume
alice POST /query/runs/{expired}/resume
alice POST /query/runs/{failed}/resume
bob POST /query/runs/{running}/resume
bob POST /query/runs/{completed}/resume
alice POST /query/runs/00000000-0000-4000-8000-000000000000/resume
alice POST /query/runs/not-an-id/resume
alice GET /query/runs/{running}/resume
`
	inputScript = `
# A run that waits for an answer goes on, and says what it asks.
alice POST /query/runs/{waiting}/resume
alice GET /query/runs/{waiting}
alice GET /query/conversations/{asking}
# Everything wrong is said at once, and leaves the question open.
alice POST /query/runs/{waiting}/input {}
alice POST /query/runs/{waiting}/input {"option":null,"text":null}
alice POST /query/runs/{waiting}/input {"option":1,"text":" "}
alice POST /query/runs/{waiting}/input {"option":"1","text":"the first"}
alice POST /query/runs/{waiting}/input {"option":"3"}
alice POST /query/runs/not-an-id/input {"option":7}
alice POST /query/runs/{waiting}/input {"option":
alice POST /query/runs/{waiting}/input plain text
alice POST /query/runs/{waiting}/input
# What is not there, or not theirs, or does not wait.
bob POST /query/runs/{waiting}/input {"option":"1"}
bob POST /query/runs/{waiting}/input {"text":"1"}
alice POST /query/runs/00000000-0000-4000-8000-000000000000/input {"option":"1"}
- POST /query/runs/{waiting}/input {"option":"1"}
alice POST /query/runs/{running}/input {"option":"1"}
alice POST /query/runs/{completed}/input {"text":"1"}
alice GET /query/runs/{waiting}/input
# The answer.
alice POST /query/runs/{waiting}/input {"option":"1"}
alice POST /query/runs/{waiting}/input {"option":"1"}
alice GET /query/runs/{waiting}
alice POST /query/runs/{spoken}/input {"text":"the second one"}
alice GET /query/runs/{spoken}
# Whoever waits for the answer, or says so, is never asked.
alice POST /query/ask {"username":"self","namespace":"shop","query":"Which orders?","neverAsk":true}
alice POST /query/ask {"username":"self","namespace":"shop","query":"Which orders?","neverAsk":"yes"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"Which orders?","minConfidence":1.5}
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"Which orders?","minConfidence":"high"}
alice POST /query/autorag {"username":"self","namespace":"shop","query":"Which orders?","neverAsk":false}
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"Which orders?"}
`
	askScript = `
alice POST /query/ask {"username":"self","namespace":"shop","query":"How many orders?"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"How many orders?","agent":"nl2ql","conversationId":"{conversation}"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"Hello"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"Fail"}
alice POST /query/autorag {"username":"alice","namespace":"SHOP","query":"How many orders?"}
alice POST /query/autorag {"username":"alice","namespace":"shop","query":"How many orders?","agent":"nl2ql","conversationId":"{conversation}"}
alice POST /query/autorag {"username":"self","namespace":"shop","query":"Hello"}
alice POST /query/autorag {"username":"self","namespace":"shop","query":"Fail"}
alice POST /query/autorag {"username":"self","namespace":"shop","query":"Unreachable"}
# Everything wrong is said at once.
alice POST /query/ask {}
alice POST /query/ask {"username":"a b","namespace":"..","query":" \n","helperPrompt":"\u0000","model":1,"provider":[],"conversationId":"x","agent":"other"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"NUL: \u0000"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"x","model":"unknown"}
alice POST /query/ask []
alice POST /query/ask {"username":
alice POST /query/ask plain text
alice POST /query/ask
alice POST /query/autorag {"agent":7}
# What is not there, or not theirs.
alice POST /query/ask {"username":"self","namespace":"none","query":"x"}
alice POST /query/ask {"username":"self","namespace":"shop","query":"x","conversationId":"00000000-0000-4000-8000-000000000000"}
bob POST /query/ask {"username":"alice","namespace":"shop","query":"x"}
bob POST /query/autorag {"username":"alice","namespace":"shop","query":"x"}
- POST /query/ask {"username":"alice","namespace":"shop","query":"x"}
alice GET /query/ask
`
	a2aScript = `
- GET /a2a
- HEAD /a2a
- GET /a2a/nl2ql/.well-known/agent-card.json
- HEAD /a2a/nl2ql/.well-known/agent-card.json
- GET /a2a/nobody/.well-known/agent-card.json
- GET /a2a/.well-known/agent-card.json
- GET /.well-known/agent-card.json
- HEAD /.well-known/agent-card.json
- GET /.well-known/ai-catalog.json
- GET /.well-known/jwks.json
- POST /.well-known/jwks.json {}
- POST /a2a/nl2ql {"jsonrpc":"2.0"}
- POST /a2a/nl2ql/ {"jsonrpc":"2.0"}
alice POST /a2a/nl2ql {"jsonrpc":"2.0"}
alice POST /a2a/nl2ql/ {"jsonrpc":"2.0"}
alice POST /a2a/nl2ql plain text
alice POST /a2a/nobody {"jsonrpc":"2.0"}
alice GET /a2a/nl2ql
alice GET /a2a/
alice POST /a2a {}
`
)
