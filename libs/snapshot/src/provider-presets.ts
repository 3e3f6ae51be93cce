import type { FurtherEndpoint, UpstreamProtocol } from '@tollgate/contracts';

/** Holds what is known of a provider, or of a server that an installation runs itself, before an administrator says anything. */
export interface ProviderPreset {
  readonly title: string;
  readonly protocol: UpstreamProtocol;
  /** Is the address with its version segment; a part in braces differs by customer or installation. */
  readonly base_url: string;
  /** Is false for servers that take requests without a key. */
  readonly needs_key: boolean;
  /** Lists the endpoints that it has beside those of every server of its protocol. */
  readonly endpoints: readonly FurtherEndpoint[];
  /** Is true when closing a stream ends what it generates and bills; false where no page states that. */
  readonly stops_billing_on_close: boolean;
  /** Is the page that states it, or the contrary; null where none does, and for a server that bills nothing. */
  readonly close_source: string | null;
  /** Is the page that states the address. */
  readonly source: string;
}

/**
 * Names, as a customer of them, OpenAI and Anthropic among the providers at which a closed stream ends processing and billing. Of other providers only a page of
 * their own counts: that of Novita contradicts this list, and none of the others is known here.
 */
const CLOSED_STREAMS = {
  stops_billing_on_close: true,
  close_source: 'https://openrouter.ai/docs/api-reference/streaming#stream-cancellation',
} as const;

/** Holds the providers by name. */
export const PROVIDER_PRESETS = {
  openai: hosted('OpenAI', 'https://api.openai.com/v1', {
    endpoints: ['responses', 'completions'],
    ...CLOSED_STREAMS,
    source: 'https://platform.openai.com/docs/api-reference',
  }),
  anthropic: hosted('Anthropic', 'https://api.anthropic.com/v1', {
    protocol: 'anthropic',
    endpoints: ['threads'],
    ...CLOSED_STREAMS,
    source: 'https://platform.claude.com/docs/en/api/overview',
  }),
  gemini: hosted('Google Gemini', 'https://generativelanguage.googleapis.com/v1beta', {
    protocol: 'gemini',
    source: 'https://ai.google.dev/api',
  }),
  azure: hosted('Azure OpenAI', 'https://{resource}.openai.azure.com/openai/v1', {
    protocol: 'azure',
    source: 'https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle',
  }),
  'azure-foundry-claude': hosted(
    'Claude on Azure Foundry',
    'https://{resource}.services.ai.azure.com/anthropic/v1',
    {
      protocol: 'anthropic',
      source: 'https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry',
    },
  ),
  vertex: hosted(
    'Google Vertex AI',
    'https://aiplatform.googleapis.com/v1/projects/{project}/locations/global',
    {
      protocol: 'vertex',
      source: 'https://cloud.google.com/vertex-ai/docs/general/locations',
    },
  ),
  bedrock: hosted('Amazon Bedrock', 'https://bedrock-runtime.{region}.amazonaws.com', {
    protocol: 'bedrock',
    source: 'https://docs.aws.amazon.com/general/latest/gr/bedrock.html',
  }),
  ark: hosted('Volcengine Ark', 'https://ark.cn-beijing.volces.com/api/v3', {
    source: 'https://www.volcengine.com/docs/82379',
  }),
  cerebras: hosted('Cerebras', 'https://api.cerebras.ai/v1', {
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  }),
  cohere: hosted('Cohere', 'https://api.cohere.ai/compatibility/v1', {
    source: 'https://docs.cohere.com/docs/compatibility-api',
  }),
  dashscope: hosted('Alibaba DashScope', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1', {
    source:
      'https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope',
  }),
  deepinfra: hosted('DeepInfra', 'https://api.deepinfra.com/v1/openai', {
    source: 'https://deepinfra.com/docs/openai_api',
  }),
  deepseek: hosted('DeepSeek', 'https://api.deepseek.com/v1', {
    source: 'https://api-docs.deepseek.com',
  }),
  fireworks: hosted('Fireworks', 'https://api.fireworks.ai/inference/v1', {
    endpoints: ['completions'],
    source: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
  }),
  groq: hosted('Groq', 'https://api.groq.com/openai/v1', {
    source: 'https://console.groq.com/docs/openai',
  }),
  hyperbolic: hosted('Hyperbolic', 'https://api.hyperbolic.xyz/v1', {
    source: 'https://docs.hyperbolic.xyz/docs/rest-api',
  }),
  minimax: hosted('MiniMax', 'https://api.minimax.io/v1', {
    source: 'https://platform.minimax.io/docs',
  }),
  mistral: hosted('Mistral', 'https://api.mistral.ai/v1', {
    source: 'https://docs.mistral.ai/api',
  }),
  moonshot: hosted('Moonshot', 'https://api.moonshot.ai/v1', {
    source: 'https://platform.moonshot.ai/docs',
  }),
  novita: hosted('Novita', 'https://api.novita.ai/v3/openai', {
    close_source: 'https://novita.ai/docs/guides/llm-billing',
    source: 'https://novita.ai/docs/guides/llm-api',
  }),
  nvidia: hosted('NVIDIA NIM', 'https://integrate.api.nvidia.com/v1', {
    source: 'https://docs.api.nvidia.com/nim/reference/llm-apis',
  }),
  openrouter: hosted('OpenRouter', 'https://openrouter.ai/api/v1', {
    source: 'https://openrouter.ai/docs/api-reference/overview',
  }),
  perplexity: hosted('Perplexity', 'https://api.perplexity.ai', {
    source: 'https://docs.perplexity.ai/api-reference/chat-completions-post',
  }),
  together: hosted('Together', 'https://api.together.xyz/v1', {
    endpoints: ['completions'],
    source: 'https://docs.together.ai/docs/openai-api-compatibility',
  }),
  xai: hosted('xAI', 'https://api.x.ai/v1', {
    source: 'https://docs.x.ai/docs/api-reference',
  }),
  zhipu: hosted('Zhipu (Z.ai)', 'https://api.z.ai/api/paas/v4', {
    source: 'https://docs.z.ai/api-reference/introduction',
  }),
  vllm: own('vLLM', 8000, 'https://docs.vllm.ai/en/stable/serving/openai_compatible_server'),
  sglang: own('SGLang', 30_000, 'https://docs.sglang.ai/basic_usage/openai_api.html'),
  'llama-cpp': own(
    'llama.cpp',
    8080,
    'https://github.com/ggml-org/llama.cpp/tree/master/tools/server',
  ),
  ollama: own('Ollama', 11_434, 'https://docs.ollama.com/api/openai-compatibility'),
} as const satisfies Readonly<Record<string, ProviderPreset>>;

export type PresetName = keyof typeof PROVIDER_PRESETS;
export const PRESET_NAMES = Object.keys(PROVIDER_PRESETS) as [PresetName, ...PresetName[]];

/** Matches a part of an address that the administrator fills in. */
const BLANK = /\{\w+\}/;

export function hasBlank({ base_url }: Pick<ProviderPreset, 'base_url'>): boolean {
  return BLANK.test(base_url);
}

/** Returns the preset whose host an address has; undefined for an address that no preset knows. Providers with a host for each customer or region are known by its end. */
export function presetAt(baseUrl: string): ProviderPreset | undefined {
  const { hostname } = new URL(baseUrl);
  return HOSTED.find(({ host }) => hostname === host || hostname.endsWith(`.${host}`))?.preset;
}

const HOSTED = Object.values<ProviderPreset>(PROVIDER_PRESETS).flatMap((preset) => {
  const host = hostOf(preset);
  return host === null ? [] : [{ host, preset }];
});

/** Returns the host, or its end behind a blank; null where the whole host is a blank. */
export function hostOf({ base_url }: Pick<ProviderPreset, 'base_url'>): string | null {
  const [, authority = ''] = /^https?:\/\/([^/]+)/.exec(base_url) ?? [];
  const [, , end] = /^(.*\{\w+\}\.)?([^{}:]+)$/.exec(authority) ?? [];
  return end ?? null;
}

function hosted(
  title: string,
  base_url: string,
  more: Partial<ProviderPreset> & Pick<ProviderPreset, 'source'>,
): ProviderPreset {
  return {
    title,
    protocol: 'openai',
    base_url,
    needs_key: true,
    endpoints: [],
    stops_billing_on_close: false,
    close_source: null,
    ...more,
  };
}

function own(title: string, port: number, source: string): ProviderPreset {
  return {
    title,
    protocol: 'openai',
    base_url: `http://{host}:${port}/v1`,
    needs_key: false,
    endpoints: ['completions'],
    stops_billing_on_close: true,
    close_source: null,
    source,
  };
}
