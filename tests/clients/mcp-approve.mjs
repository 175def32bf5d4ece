// The official TypeScript SDKs call a tool that asks first, and approve it: `node mcp-approve.mjs PACKAGE URL`, with the
// key in API_KEY. Prints what they said.
const [kind, url] = process.argv.slice(2);
const load = (path) => import(`@modelcontextprotocol/${path}`);
const [{ Client }, { StreamableHTTPClientTransport }, types] =
  kind === "sdk"
    ? await Promise.all([load("sdk/client/index.js"), load("sdk/client/streamableHttp.js"), load("sdk/types.js")])
    : [await load("client"), await load("client"), {}];

const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const asked = [];
client.setRequestHandler(types.ElicitRequestSchema ?? "elicitation/create", async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { approved: true } };
});
const headers = { Authorization: `Bearer ${process.env.API_KEY}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const result = await client.callTool({ name: "get_customer", arguments: { customer_id: 42 } });
console.log(JSON.stringify({ asked, result }));
await client.close();
