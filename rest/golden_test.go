package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// scripts are played on each database; what comes of them is in the golden
// file of the same name.
var scripts = map[string]string{
	"datasets": `
# A dataset and its namespace come into being, named as given, found in any case.
alice POST /ingest/new/Shop/Orders {}
alice GET /data/alice/shop/ORDERS
alice GET /data/self/Shop/Orders
alice POST /ingest/new/SHOP/orders {}
alice POST /ingest/new/shop/items {"dataDescription":"What we sell","schemaDefinition":{"price":"in euros","name":"as printed"}}
alice POST /ingest/new/shop/empty
alice GET /data/ALICE/shop/items
alice GET /data/alice/shop/none
alice GET /data/alice/none/orders
alice GET /data/bob/shop/orders
# Clear, rename, delete.
alice POST /data/alice/shop/items/clear
alice POST /data/alice/shop/none/clear
alice POST /data/alice/shop/items/rename Products
alice POST /data/alice/shop/products/rename orders
alice POST /data/alice/shop/products/rename not a name
alice POST /data/alice/shop/products/rename {"name":"x"}
alice GET /schema/self/shop/datasets
alice GET /schema/self/SHOP/datasets?metadata=true
alice GET /schema/self/shop/datasets?metadata=all
alice GET /schema/self/none/datasets?metadata=true
alice DELETE /data/alice/shop/empty
alice DELETE /data/alice/shop/empty
alice DELETE /data/alice/shop/products/balefire
alice GET /schema/datasets/all
`,
	"namespaces": `
alice GET /schema/self/namespaces
alice POST /ingest/new/shop/orders {}
alice POST /ingest/new/Archive/old {}
bob POST /ingest/new/lab/runs {}
bob POST /permissions/namespaces/bob/lab/shares {"username":"alice","role":"viewer"}
alice GET /schema/self/namespaces
alice GET /schema/alice/namespaces
alice GET /schema/bob/namespaces
alice GET /schema/carol/namespaces
alice GET /schema/bob/lab/datasets
alice GET /schema/bob/none/datasets
alice GET /schema/datasets/all
bob GET /schema/alice/shop/datasets
# Rename and delete are the owner's.
alice POST /data/bob/lab/rename mine
alice DELETE /data/bob/lab
bob DELETE /data/alice/shop
alice POST /data/alice/shop/rename ARCHIVE
alice POST /data/alice/shop/rename Store
alice GET /data/alice/store/orders
alice DELETE /data/alice/store
alice DELETE /data/alice/store?deleteDatasets=maybe
alice DELETE /data/alice/store?deleteDatasets=true
alice DELETE /data/alice/store?deleteDatasets=true
alice DELETE /data/alice/archive/old
alice GET /schema/self/archive/datasets
alice DELETE /data/alice/archive
alice GET /schema/self/namespaces
`,
	"definitions": `
alice POST /ingest/new/shop/orders {"dataDescription":null,"schemaDefinition":null}
alice PUT /data/alice/shop/orders/inferDefinition {"displayName":"Purchases","dataDescription":"Orders","schemaDefinition":{"total":"in euros"}}
alice GET /data/alice/shop/orders
# What is left out stays, null clears.
alice PUT /data/alice/shop/orders/inferDefinition {"schemaDefinition":{}}
alice GET /data/alice/shop/orders
alice PUT /data/alice/shop/orders/inferDefinition {"displayName":" "}
alice PUT /data/alice/shop/orders/inferDefinition {"displayName":null,"dataDescription":null,"unknown":1}
alice GET /data/alice/shop/orders
alice PUT /data/alice/shop/orders/inferDefinition {}
# Everything wrong is said at once.
alice PUT /data/alice/shop/orders/inferDefinition {"dataDescription":7,"schemaDefinition":{"a":1,"b":null,"c":"right","d":{}}}
alice PUT /data/alice/shop/orders/inferDefinition {"schemaDefinition":[]}
alice PUT /data/alice/shop/orders/inferDefinition {"dataDescription":"NUL: \u0000","schemaDefinition":{"":"no name"}}
alice PUT /data/alice/shop/orders/inferDefinition []
alice PUT /data/alice/shop/orders/inferDefinition {"dataDescription":
alice PUT /data/alice/shop/orders/inferDefinition
alice PUT /data/alice/shop/orders/inferDefinition plain text
alice PUT /data/alice/shop/none/inferDefinition {}
bob PUT /data/alice/shop/orders/inferDefinition {}
`,
	"shares-dataset":   sharesScript("/permissions/datasets/alice/shop/orders/shares", "/permissions/datasets/alice/shop/none/shares"),
	"shares-namespace": sharesScript("/permissions/namespaces/alice/shop/shares", "/permissions/namespaces/alice/none/shares"),
	"access": `
alice POST /ingest/new/shop/orders {}
alice POST /ingest/new/shop/items {}
# A stranger sees nothing.
bob GET /data/alice/shop/orders
bob GET /schema/alice/shop/datasets
bob GET /schema/self/namespaces
bob POST /data/alice/shop/orders/clear
bob GET /permissions/datasets/alice/shop/orders/shares
bob GET /permissions/namespaces/alice/shop/shares
# A viewer of one dataset sees that one alone.
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"Bob","role":"viewer"}
bob GET /schema/self/namespaces
bob GET /schema/alice/shop/datasets
bob GET /schema/datasets/all
bob GET /data/alice/shop/items
bob GET /data/alice/shop/orders
bob PUT /data/alice/shop/orders/inferDefinition {"dataDescription":"mine now"}
bob POST /data/alice/shop/orders/clear
bob POST /data/alice/shop/orders/rename mine
bob DELETE /data/alice/shop/orders
bob GET /permissions/datasets/alice/shop/orders/shares
bob GET /permissions/datasets/alice/shop/items/shares
bob GET /permissions/namespaces/alice/shop/shares
bob POST /data/alice/shop/rename mine
bob DELETE /data/alice/shop?deleteDatasets=true
# An editor of one dataset does not rename it: a name that is taken may be a hidden one.
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"bob","role":"editor"}
bob POST /data/alice/shop/orders/rename items
bob POST /data/alice/shop/orders/rename mine
bob POST /data/alice/shop/items/rename mine
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"bob","role":"viewer"}
# An editor of the namespace changes datasets, later ones too, and nothing else.
alice POST /permissions/namespaces/alice/shop/shares {"username":"bob","role":"editor"}
alice POST /ingest/new/shop/later {}
bob GET /schema/alice/shop/datasets
bob PUT /data/alice/shop/orders/inferDefinition {"dataDescription":"by bob"}
bob POST /data/alice/shop/later/clear
bob POST /data/alice/shop/later/rename Latest
bob DELETE /data/alice/shop/latest
bob DELETE /data/alice/shop/latest/balefire
bob POST /data/alice/shop/rename mine
bob DELETE /data/alice/shop?deleteDatasets=true
bob POST /permissions/namespaces/alice/shop/shares {"username":"carol","role":"viewer"}
bob POST /permissions/datasets/alice/shop/orders/shares {"username":"carol","role":"viewer"}
bob DELETE /permissions/namespaces/alice/shop/shares {"username":"bob","role":"editor"}
# The stronger of two grants counts; a revoke takes effect at once.
alice DELETE /permissions/namespaces/alice/shop/shares {"username":"bob","role":"viewer"}
bob GET /schema/alice/shop/datasets
bob POST /data/alice/shop/orders/clear
alice DELETE /permissions/datasets/alice/shop/orders/shares {"username":"bob","role":"viewer"}
bob GET /data/alice/shop/orders
bob GET /schema/alice/shop/datasets
`,
	"models": `
alice GET /query/models
`,
	"conversations": `
alice GET /query/conversations
alice GET /query/conversations?username=self&namespace=SHOP
alice GET /query/conversations?username=alice&namespace=none
alice GET /query/conversations?username=bob
alice GET /query/conversations?username=a/b&namespace=not%20a%20name
alice GET /query/conversations/{conversation}
bob GET /query/conversations
bob GET /query/conversations/{conversation}
bob PATCH /query/conversations/{conversation} {"title":"Mine"}
alice PATCH /query/conversations/{conversation} {"title":" \n"}
alice PATCH /query/conversations/{conversation} {}
alice PATCH /query/conversations/not-an-id {"title":7}
alice PATCH /query/conversations/{conversation} {"title":"  What the\nshop sold "}
alice GET /query/conversations
bob DELETE /query/conversations/{conversation}
alice GET /query/conversations/00000000-0000-4000-8000-000000000000
alice GET /query/conversations/not-an-id
alice DELETE /query/conversations/not-an-id
alice DELETE /query/conversations/{conversation}
alice DELETE /query/conversations/{conversation}
alice GET /query/conversations
`,
	"runs": `
alice GET /query/runs/{running}
alice GET /query/runs/{completed}
alice GET /query/runs/{failed}
bob GET /query/runs/{completed}
bob DELETE /query/runs/{completed}
alice GET /query/runs/00000000-0000-4000-8000-000000000000
alice GET /query/runs/not-an-id
alice DELETE /query/runs/not-an-id
alice DELETE /query/runs/{completed}
alice DELETE /query/runs/{completed}
alice GET /query/conversations/{conversation}
`,
	"resume": resumeScript,
	"input":  inputScript,
	"ask":    askScript,
	"a2a":    a2aScript,
	"feedback": `
alice POST /query/runs/{completed}/feedback {"thumbsUp":true,"comment":"Just right."}
# Again overwrites; what is not known is not minded.
alice POST /query/runs/{completed}/feedback {"thumbsUp":false,"comment":null,"mood":"grim"}
# Unparseable.
alice POST /query/runs/{completed}/feedback {"thumbsUp":
alice POST /query/runs/{completed}/feedback
# Wrong, all of it said at once.
alice POST /query/runs/{completed}/feedback {}
alice POST /query/runs/{completed}/feedback {"thumbsUp":null}
alice POST /query/runs/{completed}/feedback {"thumbsUp":"true"}
alice POST /query/runs/not-an-id/feedback {"thumbsUp":1,"comment":["fine"]}
alice POST /query/runs/{completed}/feedback {"thumbsUp":true,"comment":"NUL: \u0000"}
alice POST /query/runs/{completed}/feedback []
alice POST /query/runs/{completed}/feedback plain text
# Only one's own, when completed.
alice POST /query/runs/{running}/feedback {"thumbsUp":true}
alice POST /query/runs/{failed}/feedback {"thumbsUp":true}
alice POST /query/runs/00000000-0000-4000-8000-000000000000/feedback {"thumbsUp":true}
bob POST /query/runs/{completed}/feedback {"thumbsUp":true}
bob POST /query/runs/{running}/feedback {"thumbsUp":true}
- POST /query/runs/{completed}/feedback {"thumbsUp":true}
alice GET /query/runs/{completed}/feedback
`,
	"tokens": `
alice POST /user/token {"name":"for the orchestrator"}
alice POST /user/token {"name":"until then","expires_at":"2999-12-31T23:59:59+02:00","accessRestrictedTo":null}
alice GET /user/tokens
bob GET /user/tokens
alice GET /user/tokens/{restricted-id}/permissions
alice GET /user/tokens/{dataset-id}/permissions
alice GET /user/tokens/not-an-id/permissions
bob GET /user/tokens/{restricted-id}/permissions
bob DELETE /user/token/{restricted-id}
# Everything wrong is said at once.
alice POST /user/token {}
alice POST /user/token {"name":"","expires_at":"tomorrow","accessRestrictedTo":[{},7,{"username":"a b","namespace":"..","dataset":""}]}
alice POST /user/token {"name":7,"expires_at":"2001-01-01T00:00:00Z","accessRestrictedTo":{}}
alice POST /user/token {"name":"nothing","accessRestrictedTo":[]}
alice POST /user/token {"name":"x","access":"admin","accessRestrictedTo":[{"username":"self","namespace":"shop"}]}
alice POST /user/token {"name":"x","access":7}
alice POST /user/token {"name":"x","access":"read"}
alice POST /user/token {"name":"x","accessRestrictedTo":[{"username":"self","namespace":"none"},{"username":"self","namespace":"shop"},{"username":"self","namespace":"shop","dataset":"none"},{"username":"bob","namespace":"shop"}]}
# A restricted token reads what it covers, and cannot make or end tokens.
restricted GET /schema/datasets/all
restricted GET /data/alice/shop/orders
restricted GET /data/alice/archive/old
restricted DELETE /data/alice/archive/old
restricted DELETE /data/alice/shop/orders
restricted POST /ingest/new/shop/new {}
restricted GET /user/tokens
restricted GET /user/tokens/{restricted-id}/permissions
restricted GET /user/tokens/{dataset-id}/permissions
restricted POST /user/token {"name":"wider"}
restricted DELETE /user/token/{dataset-id}
# With write access it changes what it covers, and does not share it.
writing POST /ingest/new/archive/new {}
writing POST /ingest/new/shop/new {}
writing POST /data/alice/shop/rename market
alice GET /user/tokens/{writing-id}/permissions
writing POST /permissions/namespaces/alice/market/shares {"username":"bob","role":"viewer"}
writing POST /data/alice/market/rename shop
dataset GET /schema/datasets/all
dataset POST /ingest/new/shop/other {}
dataset DELETE /data/alice/shop?deleteDatasets=true
# An ended token is refused from then on.
alice DELETE /user/token/{restricted-id}
restricted GET /schema/datasets/all
alice DELETE /user/token/{restricted-id}
`,
	"uploads": `
alice POST /file-upload/prepare {"filesToUpload":[{"filename":"a.csv","size":20000000},{"filename":"b.csv","size":5}]}
# Everything wrong is said at once.
alice POST /file-upload/prepare {}
alice POST /file-upload/prepare {"filesToUpload":[]}
alice POST /file-upload/prepare {"filesToUpload":[{"filename":"","size":0},{"filename":"a/b","size":-1},{"filename":"..","size":"5"},{"size":1.5},7]}
alice POST /file-upload/prepare {"filesToUpload":[{"filename":"huge.csv","size":5368709121}]}
# A finished file, its session, and what cannot be done to them.
alice GET /file-upload/{session}/files
alice POST /file-upload/{session}/abort
alice POST /file-upload/{session}/files/{file}/finish {"uploadId":"{uploadId}","key":"{key}","parts":[{"partNumber":1,"etag":"{etag}"}]}
bob GET /file-upload/{session}/files
bob POST /file-upload/{session}/abort
bob POST /file-upload/{session}/files/{file}/finish {"uploadId":"{uploadId}","key":"{key}","parts":[{"partNumber":1,"etag":"{etag}"}]}
# An unfinished one.
alice GET /file-upload/{open}/files
alice POST /file-upload/{open}/files/{open-file}/finish {"uploadId":"x","key":"{open-key}","parts":[]}
alice POST /file-upload/{open}/files/{open-file}/finish {"uploadId":"{open-uploadId}","key":"{open-key}","parts":[]}
alice POST /file-upload/{open}/files/{open-file}/finish {"uploadId":"{open-uploadId}","key":"{open-key}","parts":[{"partNumber":1,"etag":"x"},{"partNumber":1,"etag":"x"},{"partNumber":9,"etag":"x"}]}
alice POST /file-upload/{open}/files/{open-file}/finish {"parts":[{}]}
alice POST /file-upload/{open}/files/not-an-id/finish {"uploadId":"x","key":"x","parts":[]}
alice POST /file-upload/{open}/files/{file}/finish {"uploadId":"{open-uploadId}","key":"{open-key}","parts":[]}
alice GET /file-upload/{open}/files/{open-file}/parts
alice GET /file-upload/{open}/files/{file}/parts
alice GET /file-upload/{open}/files/not-an-id/parts
alice GET /file-upload/not-an-id/files/{open-file}/parts
alice GET /file-upload/{session}/files/{file}/parts
bob GET /file-upload/{open}/files/{open-file}/parts
alice POST /file-upload/{open}/abort
alice POST /file-upload/{open}/abort
alice POST /file-upload/{open}/files/{open-file}/finish {"uploadId":"{open-uploadId}","key":"{open-key}","parts":[{"partNumber":1,"etag":"x"}]}
alice GET /file-upload/{open}/files/{open-file}/parts
alice GET /file-upload/not-an-id/files
alice POST /file-upload/not-an-id/abort
`,
	"ingestions": `
# Rows are there before the answer, in a dataset that is made if need be.
alice POST /ingest/lab/plants {"data":[{"name":"oak","height":30},{"name":"fern","height":0.5,"shade":true}],"dataDescription":"Plants"}
alice GET /data/alice/lab/plants
# Rows that are refused make no dataset.
alice POST /ingest/lab/refused {"data":[{"name":"oak"}],"options":{"types":{"name":"integer"}}}
alice GET /data/alice/lab/refused
alice POST /ingest/lab/plants {"data":[]}
alice POST /ingest/lab/plants {"data":[1,{"name":"moss"},[]]}
alice POST /ingest/lab/plants {"data":{}}
alice POST /ingest/lab/plants {}
alice GET /data/alice/lab/plants
# What was ingested of a file.
alice GET /data/alice/shop/orders
alice GET /data/alice/shop/orders/ingest/attempts
alice GET /data/alice/shop/orders/ingest/attempts?pageSize=1&beforeCreatedAt=2001-01-01T00:00:00Z
alice GET /data/alice/shop/orders/ingest/attempts?pageSize=0&beforeCreatedAt=then
bob GET /data/alice/shop/orders/ingest/attempts
alice POST /ingestionTracking/{ingestion}/retry
alice POST /ingestionTracking/{ingestion}/seen
bob POST /ingestionTracking/{ingestion}/seen
alice POST /ingestionTracking/not-an-id/retry
# Files that cannot be ingested.
alice POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"{open}","fileId":"{open-file}"}],"mode":"append"}
alice POST /data/alice/shop/orders/ingest {"files":[],"mode":"upsert"}
alice POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"x"},7]}
# Pages of rows.
alice GET /data/alice/shop/orders/rows?limit=2&offset=1
alice GET /data/self/SHOP/ORDERS/rows?sort=PRICE&order=desc&limit=2
alice GET /data/alice/shop/orders/rows?sort=item&offset=100
alice GET /data/alice/shop/orders/rows?limit=1001&offset=-1&order=down
alice GET /data/alice/shop/orders/rows?sort=price%22%3B%20DROP%20TABLE%20orders%3B--
alice GET /data/alice/shop/none/rows
bob GET /data/alice/shop/orders/rows
# All rows as a file.
alice GET /data/alice/shop/orders/download
alice GET /data/self/SHOP/ORDERS/download?format=csv&escapeFormulas=true
alice GET /data/alice/shop/orders/download?format=xml&escapeFormulas=yes
alice GET /data/alice/shop/none/download
bob GET /data/alice/shop/orders/download
# What columns hold, also after rows were added.
alice GET /data/alice/shop/orders/profile
alice POST /ingest/lab/plants {"data":[{"name":"oak","height":31,"planted":"2024-05-01"}]}
alice GET /data/alice/lab/plants/profile
# Values are written as in rows.
alice POST /ingest/lab/extremes {"data":[{"big":12345678901234567890,"long":9007199254740993,"far":1e300},{"big":1,"long":1,"far":0.5}]}
alice GET /data/alice/lab/extremes/profile
alice GET /data/alice/lab/extremes/rows
bob GET /data/alice/shop/orders/profile
# What would become of a file.
alice POST /ingest/preview {"sessionId":"{session}","fileId":"{file}"}
alice POST /ingest/preview {"sessionId":"{session}","fileId":"{file}","options":{"sheet":"May"}}
alice POST /ingest/preview {"sessionId":"{open}","fileId":"{open-file}"}
alice POST /ingest/preview {"sessionId":"{session}","fileId":"{open-file}"}
bob POST /ingest/preview {"sessionId":"{session}","fileId":"{file}"}
alice POST /ingest/preview {"fileId":"x","options":{"union":1}}
# As part of a dataset.
alice POST /ingest/preview {"files":[{"sessionId":"{session}","fileId":"{file}"}],"username":"self","namespace":"lab","dataset":"extremes"}
alice POST /ingest/preview {"files":[{"sessionId":"{session}","fileId":"{file}"}],"username":"self","namespace":"lab","dataset":"extremes","mode":"replace"}
# Wrong options are named.
alice POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"{session}","fileId":"{file}"}],"options":{"encodng":"utf-8","encoding":"latin1","delimiter":"ab","headerRow":-1,"nullValues":"NA","types":{"id":7},"union":"yes","sheet":""}}
alice POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"{session}","fileId":"{file}"}],"options":{"encoding":"ebcdic","delimiter":"ab","headerRow":10001,"types":{"id":"colour","price":"Decimal(39,2)","__x":"text"}}}
alice POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"{session}","fileId":"{file}"}],"options":[]}
alice POST /upload/multipart/alice/shop/orders/finish {"uploadId":"x","key":"y","parts":[],"options":{"delimiter":"\""}}
alice POST /ingest/lab/plants {"data":[{"name":"moss"}],"options":{"types":{"name":"words"}}}
alice POST /data/alice/shop/none/ingest {"files":[{"sessionId":"{session}","fileId":"{file}"}]}
bob POST /data/alice/shop/orders/ingest {"files":[{"sessionId":"{session}","fileId":"{file}"}]}
alice POST /upload/multipart/alice/shop/orders/prepare {"filename":"a.csv","size":9000000}
alice POST /upload/multipart/alice/shop/orders/prepare {"filename":"../a.csv"}
bob POST /upload/multipart/alice/shop/orders/prepare {"filename":"a.csv","size":9}
alice POST /upload/multipart/alice/shop/orders/finish {"uploadId":"x","key":"y","parts":[]}
alice POST /upload/multipart/alice/shop/orders/abort {"uploadId":"{open-uploadId}","key":"{open-key}"}
# Clear and delete.
alice POST /data/alice/shop/orders/clear
alice GET /data/alice/shop/orders
alice DELETE /data/alice/shop/orders
`,
	"links": `
alice POST /ingest/shop/customers {"data":[{"id":1,"name":"Ann","mail":"ann@example.com"},{"id":2,"name":"Bo","mail":"bo@example.com"},{"id":3,"name":"Cy","mail":"cy@example.com"}]}
alice POST /ingest/shop/buys {"data":[{"buy":1,"customer_id":1,"payer":2,"day":"2024-05-01"},{"buy":2,"customer_id":1,"payer":9,"day":"2024-05-01"},{"buy":3,"customer_id":3,"payer":null,"day":"2024-05-02"}]}
# A column that is named after another dataset suggests a link.
alice GET /data/alice/shop/buys/links
alice GET /data/alice/shop/customers/links
# A declared link comes first, and suggests no other for its columns.
alice PUT /data/alice/shop/buys/links {"links":[{"columns":["payer"],"dataset":"CUSTOMERS","toColumns":["ID"],"label":"who paid"},{"columns":["day","buy"],"dataset":"buys","toColumns":["day","buy"],"label":null}]}
alice GET /data/self/SHOP/BUYS/links
# Everything wrong is said at once.
alice PUT /data/alice/shop/buys/links {"links":[{"columns":["payer","day"],"dataset":"customers","toColumns":["id"]},{"columns":[],"dataset":"..","toColumns":["__id"],"label":"NUL: \u0000"}]}
alice PUT /data/alice/shop/buys/links {"links":[{"columns":["colour"],"dataset":"customers","toColumns":["size"]},{"columns":["payer"],"dataset":"none","toColumns":["id"]}]}
alice PUT /data/alice/shop/buys/links {"links":[{"columns":"payer","toColumns":[1]},7]}
alice PUT /data/alice/shop/buys/links {"links":{}}
alice PUT /data/alice/shop/buys/links {}
alice PUT /data/alice/shop/buys/links {"links":
alice PUT /data/alice/shop/none/links {"links":[]}
alice GET /data/alice/shop/none/links
# Whoever may not read the other dataset knows of no link to it, and a viewer declares none.
bob GET /data/alice/shop/buys/links
bob PUT /data/alice/shop/buys/links {"links":[]}
alice POST /permissions/datasets/alice/shop/buys/shares {"username":"bob","role":"viewer"}
bob GET /data/alice/shop/buys/links
bob PUT /data/alice/shop/buys/links {"links":[]}
alice POST /permissions/datasets/alice/shop/buys/shares {"username":"bob","role":"editor"}
bob PUT /data/alice/shop/buys/links {"links":[{"columns":["payer"],"dataset":"customers","toColumns":["id"]}]}
bob PUT /data/alice/shop/buys/links {"links":[]}
alice GET /data/alice/shop/buys/links
# New names of datasets are followed; a column that is no more is a problem.
alice POST /data/alice/shop/customers/rename clients
alice POST /data/alice/shop/buys/clear
alice GET /data/alice/shop/buys/links
alice DELETE /data/alice/shop/clients
alice GET /data/alice/shop/buys/links
`,
	"infer": `
alice POST /infer/description {"sample":[{"name":"oak","height":30},{"name":"fern"}]}
alice POST /infer/schema {"sample":[{"name":"oak","height":30}],"currentValue":{"description":"Plants","schema":{"name":"in English","age":"in years"}},"model":"other","provider":null}
alice POST /infer/description {"sample":[{"name":"oak"}],"currentValue":null}
# Everything wrong is said at once.
alice POST /infer/description {}
alice POST /infer/schema {"sample":[]}
alice POST /infer/schema {"sample":{},"currentValue":[],"model":7,"provider":"NUL: \u0000"}
alice POST /infer/description {"sample":[1,{"a":1},null],"currentValue":{"description":7,"schema":{"a":1,"":"no name","b":"right"}}}
alice POST /infer/description {"sample":
alice POST /infer/description [{"a":1}]
# A model that is not set, and one that cannot be asked.
alice POST /infer/description {"sample":[{"a":1}],"model":"unset"}
alice POST /infer/schema {"sample":[{"a":1}],"model":"down"}
# What an ingestion would store: one type for each column, all columns in every row.
alice POST /infer/preview {"data":[{"name":"oak","height":30,"planted":"2001-05-06","big":9007199254740993},{"height":0.5,"name":null,"shade":true,"tags":["a"],"more":{"x":1}}]}
alice POST /infer/preview {"data":[{"id":1},{"id":"two"}],"dataDescription":"Ids","schemaDefinition":{"id":"what it is called"}}
alice POST /infer/preview {"data":[{"text":"An oak of 30 m."}],"schemaDefinition":{"name":"of the plant"}}
alice POST /infer/preview {"data":[]}
alice POST /infer/preview {}
alice POST /infer/preview {"data":[7,{"a":1}],"dataDescription":7,"schemaDefinition":{"a":1}}
alice POST /infer/preview {"data":[{"a":1,"A":2}]}
alice POST /infer/preview {"data":[{"__a":1}]}
alice POST /infer/preview {"data":[{}]}
alice GET /schema/datasets/all
`,
	"query": `
alice POST /query {"username":"self","namespace":"shop","query":"SELECT item, sum(price * count) AS total FROM orders GROUP BY item ORDER BY total DESC"}
alice POST /query {"username":"alice","namespace":"SHOP","dataset":"Orders","query":"SELECT * FROM Orders ORDER BY id"}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT count(*) AS n FROM empty"}
alice POST /query {"username":"self","namespace":"shop","dataset":"none","query":"SELECT 1"}
alice POST /query {"username":"self","namespace":"none","query":"SELECT 1"}
# What is wrong with a query is said to whoever wrote it.
alice POST /query {"username":"self","namespace":"shop","query":"SELECT totl FROM orders"}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT itm FROM orders"}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT * FROM order"}
alice POST /query {"username":"self","namespace":"shop","query":"DROP TABLE orders"}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT 1; SELECT 2"}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT * FROM '/etc/passwd'"}
alice POST /query {"username":"self","namespace":"shop","query":""}
alice POST /query {}
alice POST /query {"username":"self","namespace":"shop","query":"SELECT 1","naturalLanguageQuery":"one?"}
# A question is answered with the rows of the query that was made of it.
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"How many?"}
alice POST /query {"username":"self","namespace":"shop","dataset":"orders","naturalLanguageQuery":"Too many?"}
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"None?"}
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"Fail"}
alice POST /query {"username":"self","namespace":"shop","naturalLanguageQuery":"Unreachable"}
alice POST /query {"username":"self","namespace":"shop","dataset":"none","naturalLanguageQuery":"How many?"}
alice POST /query {"username":"self","namespace":"none","naturalLanguageQuery":"How many?"}
alice POST /query {"namespace":"..","dataset":"","naturalLanguageQuery":"","model":7}
bob POST /query {"username":"alice","namespace":"shop","naturalLanguageQuery":"How many?"}
# Somebody who may read one dataset knows of no other.
bob POST /query {"username":"alice","namespace":"shop","query":"SELECT 1"}
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"bob","role":"viewer"}
bob POST /query {"username":"alice","namespace":"shop","query":"SELECT count(*) AS n FROM orders"}
bob POST /query {"username":"alice","namespace":"shop","query":"SELECT * FROM empty"}
bob POST /query {"username":"alice","namespace":"shop","query":"SELECT * FROM nothing"}
bob POST /ingest/shop/orders {"data":[{"id":9}]}
bob GET /data/bob/shop/orders
alice DELETE /permissions/datasets/alice/shop/orders/shares {"username":"bob","role":"viewer"}
bob POST /query {"username":"alice","namespace":"shop","query":"SELECT count(*) AS n FROM orders"}
`,
	"health": `
- GET /healthz
- GET /readyz
- POST /healthz {}
`,
}

// sharesScript is what holds for shares of a dataset and of a namespace alike.
func sharesScript(shares, none string) string {
	return strings.NewReplacer("SHARES", shares, "NONE", none).Replace(`
alice POST /ingest/new/shop/orders {}
alice GET SHARES
alice POST SHARES {"username":"Zoe","role":"viewer"}
alice POST SHARES {"username":"bob","role":"viewer"}
alice GET SHARES
# Sharing again replaces the role.
alice POST SHARES {"username":"BOB","role":"editor"}
alice GET SHARES
# A revoke matches on the user; its role must still be one.
alice DELETE SHARES {"username":"bob","role":"owner"}
alice DELETE SHARES {"username":"bob"}
alice DELETE SHARES {"username":"bob","role":"viewer"}
alice DELETE SHARES {"username":"bob","role":"viewer"}
alice GET SHARES
# Wrong bodies.
alice POST SHARES {"username":"self","role":"viewer"}
alice POST SHARES {"username":"Alice","role":"viewer"}
alice POST SHARES {"role":7}
alice POST SHARES {"username":"a b","role":"owner"}
alice POST SHARES {"username":null,"role":null}
alice POST SHARES {"username":
alice POST SHARES []
alice POST SHARES
# Only the owner: 403 with a grant, 404 without.
zoe GET SHARES
zoe POST SHARES {"username":"carol","role":"viewer"}
zoe DELETE SHARES {"username":"zoe","role":"viewer"}
carol GET SHARES
carol POST SHARES {"username":"carol","role":"viewer"}
carol DELETE SHARES {"username":"zoe","role":"viewer"}
alice GET NONE
`)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
				s := newService(t, store)
				switch name {
				case "conversations", "runs", "resume", "ask", "feedback":
					s.haveConversation()
				case "input":
					s.haveConversation()
					s.haveQuestions()
				case "uploads", "ingestions", "query":
					s.haveUpload()
				case "tokens":
					s.haveTokens()
				}
				s.golden(name, script)
			})
		})
	}
}

// haveConversation writes a conversation of alice's about her namespace shop,
// with a run in each state, and names it and them for scripts.
func (s *service) haveConversation() {
	s.t.Helper()
	s.create("alice", "shop", "orders")
	alice, ctx := domain.Caller{Username: "alice"}, s.t.Context()
	s.vars["conversation"] = uuid.NewString()
	for _, run := range []struct {
		name, agent, question string
		outcome               domain.RunOutcome
	}{
		{"completed", "assistant", "How many orders were there in May, and what were they worth?", domain.RunOutcome{
			Status: domain.RunCompleted,
			Result: json.RawMessage(`{"response":"Two <orders>.","steps":[{"instruction":"Count","query":"SELECT 2 AS n","reasoning":"","data":[{"n":2,"__metadata":{"score":1}}]}]}`),
		}},
		{"failed", "nl2ql", "And in June?", domain.RunOutcome{Status: domain.RunFailed, ErrorMessage: "canceled"}},
		{"running", "assistant", "And in July?", domain.RunOutcome{}},
		{"expired", "assistant", "And in <August>?", domain.RunOutcome{Status: domain.RunExpired}},
	} {
		asked, err := sqlstoretest.Ask(ctx, s.store, alice, domain.Question{
			ConversationID: s.vars["conversation"], Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"},
			Agent: run.agent, Text: run.question,
		})
		s.vars[run.name] = asked.RunID
		if err == nil && run.name == "completed" {
			err = sqlstoretest.Append(s.store, domain.TaskChange{
				RunID: asked.RunID, Holder: sqlstoretest.Holder, State: "working", Snapshot: json.RawMessage(`{}`), LastNodeID: "answer",
			})
		}
		if err == nil && run.outcome.Status != "" {
			err = sqlstoretest.Finish(ctx, s.store, alice, asked.RunID, run.outcome)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// haveQuestions has two runs of alice's ask her something.
func (s *service) haveQuestions() {
	s.t.Helper()
	for _, name := range []string{"waiting", "spoken"} {
		asked, err := s.agents.Ask(s.t.Context(), domain.Caller{Username: "alice"}, domain.Question{
			Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "assistant", Text: "Which orders?",
		})
		if err != nil {
			s.t.Fatal(err)
		}
		s.vars[name], s.vars["asking"] = asked.RunID, asked.ConversationID
	}
}

// haveTokens returns alice two datasets and three restricted tokens: two for
// namespace shop, one of which writes, and one that writes to the dataset in it.
func (s *service) haveTokens() {
	s.t.Helper()
	s.create("alice", "shop", "orders")
	s.create("alice", "archive", "old")
	s.makeToken("restricted", "alice", `{"name":"for the shop","accessRestrictedTo":[{"username":"self","namespace":"Shop"}]}`)
	s.makeToken("writing", "alice", `{"name":"for changes to the shop","access":"write","accessRestrictedTo":[{"username":"self","namespace":"shop"}]}`)
	s.makeToken("dataset", "alice", `{"name":"for the orders","access":"write","accessRestrictedTo":[{"username":"ALICE","namespace":"shop","dataset":"orders"}]}`)
}

// makeToken has a user make a token; scripts act by its name, and name its id
// with "-id" behind.
func (s *service) makeToken(name, user, body string) {
	s.t.Helper()
	got := s.send(user, "POST", "/user/token", "application/json", body)
	var made struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || made.Token == "" {
		s.t.Fatalf("make token: %d %s", got.status, got.body)
	}
	s.vars[name], s.vars[name+"-id"] = made.Token, made.ID
}
