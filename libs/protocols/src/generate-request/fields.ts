/**
 * Says what becomes of a member of a request before an upstream that does not speak Gemini.
 *
 * - carried: the chat request says the same
 * - left: it is left out, as docs/translation.md says
 * - native: no other provider has it, so that the request is refused there
 */
type Fate = 'carried' | 'left' | 'native';
export type Members = Readonly<Record<string, Fate>>;

/** See https://ai.google.dev/api/generate-content#request-body */
export const REQUEST: Members = {
  contents: 'carried',
  systemInstruction: 'carried',
  tools: 'carried',
  toolConfig: 'carried',
  generationConfig: 'carried',
  safetySettings: 'left',
  labels: 'left',
};

/** See https://ai.google.dev/api/generate-content#generationconfig */
export const GENERATION_CONFIG: Members = {
  maxOutputTokens: 'carried',
  candidateCount: 'carried',
  temperature: 'carried',
  topP: 'carried',
  topK: 'left',
  seed: 'carried',
  stopSequences: 'carried',
  presencePenalty: 'carried',
  frequencyPenalty: 'carried',
  responseMimeType: 'carried',
  responseSchema: 'carried',
  responseJsonSchema: 'carried',
  thinkingConfig: 'carried',
  responseModalities: 'native',
  responseLogprobs: 'native',
  logprobs: 'native',
  speechConfig: 'native',
  imageConfig: 'native',
  mediaResolution: 'native',
  audioTimestamp: 'native',
  enableEnhancedCivicAnswers: 'left',
};

export const THINKING_CONFIG: Members = {
  includeThoughts: 'carried',
  thinkingBudget: 'carried',
  thinkingLevel: 'carried',
};

/** See https://ai.google.dev/api/caching#ToolConfig */
export const TOOL_CONFIG: Members = { functionCallingConfig: 'carried', retrievalConfig: 'native' };

/** See https://ai.google.dev/api/caching#FunctionCallingConfig */
export const CALLING_CONFIG: Members = { mode: 'carried', allowedFunctionNames: 'carried' };

/** See https://ai.google.dev/api/caching#FunctionDeclaration */
export const DECLARATION: Members = {
  name: 'carried',
  description: 'carried',
  parameters: 'carried',
  parametersJsonSchema: 'carried',
  response: 'left',
  responseJsonSchema: 'left',
  behavior: 'native',
};

/** See https://ai.google.dev/api/embeddings#EmbedContentRequest */
export const EMBED_REQUEST: Members = {
  model: 'carried',
  content: 'carried',
  outputDimensionality: 'carried',
  taskType: 'native',
  title: 'native',
};

export const EMBED_BATCH: Members = { requests: 'carried' };

/** See https://ai.google.dev/api/caching#Content */
export const CONTENT: Members = { role: 'carried', parts: 'carried' };

/** See https://ai.google.dev/api/caching#Part */
export const PART: Members = {
  text: 'carried',
  thought: 'carried',
  thoughtSignature: 'carried',
  inlineData: 'carried',
  functionCall: 'carried',
  functionResponse: 'carried',
  executableCode: 'native',
  codeExecutionResult: 'native',
  videoMetadata: 'native',
  mediaResolution: 'native',
  partMetadata: 'left',
};

export const INLINE_DATA: Members = { mimeType: 'carried', data: 'carried', displayName: 'left' };
export const FUNCTION_CALL: Members = { id: 'carried', name: 'carried', args: 'carried' };
export const FUNCTION_RESPONSE: Members = {
  id: 'carried',
  name: 'carried',
  response: 'carried',
  scheduling: 'native',
  willContinue: 'native',
};
