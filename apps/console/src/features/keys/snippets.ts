export type SnippetName = 'curl' | 'openai' | 'anthropic' | 'claude' | 'codex';
export const SNIPPETS: readonly SnippetName[] = ['curl', 'openai', 'anthropic', 'claude', 'codex'];

/** What a person pastes to make the first call: complete, with the real address, key and model. */
export function snippetOf(
  name: SnippetName,
  { gateway, secret, model }: { gateway: string; secret: string; model: string },
): string {
  switch (name) {
    case 'curl':
      return `curl ${gateway}/v1/chat/completions \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })}'`;
    case 'openai':
      return `from openai import OpenAI

client = OpenAI(
    base_url="${gateway}/v1",
    api_key="${secret}",
)
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;
    case 'anthropic':
      return `from anthropic import Anthropic

client = Anthropic(
    base_url="${gateway}",
    api_key="${secret}",
)
answer = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`;
    case 'claude':
      return `export ANTHROPIC_BASE_URL="${gateway}"
export ANTHROPIC_AUTH_TOKEN="${secret}"
export ANTHROPIC_MODEL="${model}"
claude`;
    case 'codex':
      return `# ~/.codex/config.toml
model = "${model}"
model_provider = "tollgate"

[model_providers.tollgate]
name = "Tollgate"
base_url = "${gateway}/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"

# then, in a shell
export TOLLGATE_API_KEY="${secret}"
codex`;
  }
}
