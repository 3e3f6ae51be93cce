import type { FieldRole } from './found-field.ts';

/** Maps a dotted path to its role, one line per field; `[]` stands for every item of an array. */
export type FieldTable = Readonly<Record<string, FieldRole>>;

/** Every protocol's table has these fields. */
const EVERYWHERE: FieldTable = {
  model: 'model',

  service_tier: 'tier',
  speed: 'tier',
  inference_geo: 'tier',

  // LiteLLM, OpenRouter, Portkey and similar gateways read these as instructions to themselves.
  api_base: 'routing',
  api_key: 'routing',
  api_type: 'routing',
  api_version: 'routing',
  additional_drop_params: 'routing',
  aws_access_key_id: 'routing',
  aws_bedrock_runtime_endpoint: 'routing',
  aws_region_name: 'routing',
  aws_secret_access_key: 'routing',
  base_url: 'routing',
  content_policy_fallbacks: 'routing',
  context_window_fallbacks: 'routing',
  custom_llm_provider: 'routing',
  deployment_id: 'routing',
  drop_params: 'routing',
  extra_headers: 'routing',
  extra_query: 'routing',
  fallbacks: 'routing',
  headers: 'routing',
  litellm_credential_name: 'routing',
  litellm_params: 'routing',
  model_list: 'routing',
  models: 'routing',
  num_retries: 'routing',
  preset: 'routing',
  prompt_id: 'routing',
  provider: 'routing',
  provider_specific_header: 'routing',
  route: 'routing',
  user_config: 'routing',
  vertex_credentials: 'routing',
  vertex_location: 'routing',
  vertex_project: 'routing',

  additional_model_request_fields: 'envelope',
  additionalModelRequestFields: 'envelope',
  extra_body: 'envelope',
  extra_params: 'envelope',
  model_kwargs: 'envelope',

  cached_content: 'reference',
  cachedContent: 'reference',
  mm_processor_kwargs: 'reference',

  metadata: 'setting',
  temperature: 'setting',
  top_k: 'setting',
  top_p: 'setting',
  user: 'setting',
};

/** Lists, by provider, the fields that limit the output tokens that models spend on thinking. */
const BUDGETS: FieldTable = {
  'thinking.budget_tokens': 'budget',
  'reasoning.max_tokens': 'budget',
  max_thinking_tokens: 'budget',
  reasoning_budget: 'budget',
  thinking_budget: 'budget',
  thinking_budget_tokens: 'budget',
  thinking_token_budget: 'budget',
  'extra_body.google.thinking_config.thinking_budget': 'budget',
  'extra_body.google.cached_content': 'reference',
};

/** See https://platform.openai.com/docs/api-reference/chat/create. */
export const CHAT: FieldTable = {
  ...EVERYWHERE,
  ...BUDGETS,
  stream: 'stream',
  'stream_options.include_usage': 'stream',
  max_tokens: 'limit',
  max_completion_tokens: 'limit',
  n: 'count',
  messages: 'prompt',
  tools: 'prompt',
  'tools[].type': 'structure',
  'tools[].max_uses': 'structure',
  functions: 'prompt',
  response_format: 'prompt',
  documents: 'prompt',
  chat_template: 'prompt',
  chat_template_kwargs: 'prompt',
  prediction: 'predicted',
  web_search_options: 'server_tools',
  mcp_servers: 'server_tools',
  plugins: 'server_tools',
  connectors: 'server_tools',
  data_sources: 'server_tools',
  enable_search: 'server_tools',
  search_parameters: 'server_tools',
  web_search: 'server_tools',
  audio: 'setting',
  enable_thinking: 'setting',
  frequency_penalty: 'setting',
  logit_bias: 'setting',
  logprobs: 'setting',
  min_p: 'setting',
  modalities: 'setting',
  moderation: 'setting',
  parallel_tool_calls: 'setting',
  presence_penalty: 'setting',
  prompt_cache_key: 'setting',
  prompt_cache_options: 'setting',
  prompt_cache_retention: 'setting',
  reasoning: 'setting',
  reasoning_effort: 'setting',
  repetition_penalty: 'setting',
  safety_identifier: 'setting',
  seed: 'setting',
  stop: 'setting',
  // OpenAI takes metadata of a chat request only where it stores the answer.
  store: 'storage',
  metadata: 'storage',
  stream_options: 'setting',
  thinking: 'setting',
  top_logprobs: 'setting',
  verbosity: 'setting',
};

/** See https://platform.claude.com/docs/en/api/messages/create. */
export const MESSAGES: FieldTable = {
  ...EVERYWHERE,
  stream: 'stream',
  max_tokens: 'limit',
  'thinking.budget_tokens': 'budget',
  system: 'prompt',
  messages: 'prompt',
  tools: 'prompt',
  'tools[].type': 'structure',
  'tools[].max_uses': 'structure',
  output_config: 'prompt',
  output_format: 'prompt',
  mcp_servers: 'server_tools',
  compaction: 'reference',
  billing_policy: 'setting',
  cache_control: 'setting',
  container: 'setting',
  context_management: 'setting',
  diagnostics: 'setting',
  safeguards: 'setting',
  stop_sequences: 'setting',
  tags: 'setting',
  thinking: 'setting',
  thread: 'setting',
};

/** See https://platform.openai.com/docs/api-reference/responses/create. */
export const RESPONSES: FieldTable = {
  ...EVERYWHERE,
  stream: 'stream',
  max_output_tokens: 'limit',
  'reasoning.max_tokens': 'budget',
  instructions: 'prompt',
  input: 'prompt',
  tools: 'prompt',
  'tools[].type': 'structure',
  text: 'prompt',
  conversation: 'reference',
  previous_response_id: 'reference',
  prompt: 'reference',
  background: 'setting',
  client_metadata: 'setting',
  include: 'setting',
  max_tool_calls: 'setting',
  moderation: 'setting',
  parallel_tool_calls: 'setting',
  prompt_cache_key: 'setting',
  prompt_cache_options: 'setting',
  prompt_cache_retention: 'setting',
  reasoning: 'setting',
  safety_identifier: 'setting',
  store: 'setting',
  stream_options: 'setting',
  top_logprobs: 'setting',
  truncation: 'setting',
};

/** See https://platform.openai.com/docs/api-reference/completions/create. */
export const COMPLETIONS: FieldTable = {
  ...EVERYWHERE,
  stream: 'stream',
  'stream_options.include_usage': 'stream',
  max_tokens: 'limit',
  n: 'count',
  best_of: 'count',
  prompt: 'prompt',
  suffix: 'prompt',
  echo: 'setting',
  frequency_penalty: 'setting',
  logit_bias: 'setting',
  logprobs: 'setting',
  min_p: 'setting',
  presence_penalty: 'setting',
  repetition_penalty: 'setting',
  seed: 'setting',
  stop: 'setting',
  stream_options: 'setting',
};

/** See https://platform.openai.com/docs/api-reference/embeddings/create. */
export const EMBEDDINGS: FieldTable = {
  ...EVERYWHERE,
  input: 'prompt',
  dimensions: 'setting',
  encoding_format: 'setting',
  // The answer never streams, whatever this says.
  stream: 'setting',
};

/** Lists limits and counts of other protocols. A server that reads one of them beside its own would exceed the hold. */
export const FURTHER_LIMITS: FieldTable = {
  // See https://docs.anthropic.com/en/api/complete.
  max_tokens_to_sample: 'limit',
  // Gemini and Vertex read these: https://ai.google.dev/api/generate-content.
  'generationConfig.maxOutputTokens': 'limit',
  'generationConfig.candidateCount': 'count',
  'generation_config.max_output_tokens': 'limit',
  'generation_config.candidate_count': 'count',
  maxOutputTokens: 'limit',
  candidateCount: 'count',
  candidate_count: 'count',
  // Bedrock reads these: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
  'inferenceConfig.maxTokens': 'limit',
  'textGenerationConfig.maxTokenCount': 'limit',
  max_gen_len: 'limit',
  maxTokens: 'limit',
  // Text Generation Inference and Transformers read these.
  'parameters.max_new_tokens': 'limit',
  max_new_tokens: 'limit',
  max_length: 'limit',
  num_return_sequences: 'count',
  // Ollama reads these: https://github.com/ollama/ollama/blob/main/docs/api.md.
  'options.num_predict': 'limit',
  num_predict: 'limit',
  // llama.cpp reads these: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
  n_predict: 'limit',
  n_cmpl: 'count',
};
