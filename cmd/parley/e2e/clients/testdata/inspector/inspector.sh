# The command line of the MCP Inspector, over HTTP and stdio: docs/mcp.md. --strict checks that the
# schemas of the tools are portable; what is not comes first, with the reason. $1 is its program.
server=${BASE%/api/v1}

over_http() { "$inspector" --cli "$server/mcp" --transport http --header "Authorization: Bearer $TOKEN" "$@"; }
over_stdio() { "$inspector" --cli -e "PARLEY_SERVER=$server" -e "PARLEY_TOKEN=$TOKEN" "$PARLEY" mcp "$@"; }

inspector=$1
for connect in over_http over_stdio; do
	printf '\n== %s\n' "$connect"
	$connect --method tools/list --strict 2>&1 | grep -E '^      "name"|^(Error|Warning|  Path):?'
	$connect --method resources/list | grep '"uri"'
	$connect --method tools/call --tool-name ask --tool-arg 'question=How many orders are there in Berlin?' --tool-arg namespace=shop | grep -E '"(answer|status)"'
	$connect --method tools/call --tool-name ask --tool-arg 'question=How many work orders were there in 2025?' --tool-arg namespace=workshop | grep -E '"(label|status)"'
	$connect --method tools/call --tool-name run_sql --tool-arg 'query=SELECT nothing FROM orders' --tool-arg namespace=shop | grep -E '"(code|reason|status)"'
	(TOKEN=nobody && $connect --method tools/list 2>&1 | head -n 3)
done
