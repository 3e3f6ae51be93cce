export type SnippetName = 'curl' | 'openai' | 'anthropic' | 'claude' | 'codex';
export const SNIPPETS: readonly SnippetName[] = ['curl', 'openai', 'anthropic', 'claude', 'codex'];

interface Call {
  readonly gateway: string;
  readonly secret: string;
  readonly model: string;
}

const TEMPLATES: Readonly<Record<SnippetName, (call: Call) => string>> = {
  curl: ({ gateway, secret, model }) => `curl ${gateway}/v1/chat/completions \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })}'`,
  openai: ({ gateway, secret, model }) => `from openai import OpenAI

client = OpenAI(
    base_url="${gateway}/v1",
    api_key="${secret}",
)
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
  anthropic: ({ gateway, secret, model }) => `from anthropic import Anthropic

client = Anthropic(
    base_url="${gateway}",
    api_key="${secret}",
)
answer = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`,
  claude: ({ gateway, secret, model }) => `export ANTHROPIC_BASE_URL="${gateway}"
export ANTHROPIC_AUTH_TOKEN="${secret}"
export ANTHROPIC_MODEL="${model}"
claude`,
  codex: ({ gateway, secret, model }) => `# ~/.codex/config.toml
model = "${model}"
model_provider = "tollgate"

[model_providers.tollgate]
name = "Tollgate"
base_url = "${gateway}/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"

# then, in a shell
export TOLLGATE_API_KEY="${secret}"
codex`,
};

/** Returns what a person pastes to make the first call: complete, with the real address, key and model. */
export function snippetOf(name: SnippetName, call: Call): string {
  return TEMPLATES[name](call);
}
