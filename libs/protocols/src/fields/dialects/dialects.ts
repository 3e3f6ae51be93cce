import { ANTHROPIC } from './anthropic.ts';
import { DASHSCOPE } from './dashscope.ts';
import { DEEPSEEK } from './deepseek.ts';
import type { Dialect } from './dialect.ts';
import { EMBEDDERS } from './embedders.ts';
import { GOOGLE } from './google.ts';
import { GROQ } from './groq.ts';
import { LLAMA_CPP } from './llama-cpp.ts';
import { MISTRAL } from './mistral.ts';
import { OPENAI } from './openai.ts';
import { OPENROUTER } from './openrouter.ts';
import { SGLANG } from './sglang.ts';
import { TGI } from './tgi.ts';
import { VLLM } from './vllm.ts';
import { XAI } from './xai.ts';

/**
 * A further server adds its file and its line here. A field that one of them documents as safe counts as safe for all, because an upstream does not
 * say which server it is.
 */
export const DIALECTS: readonly Dialect[] = [
  OPENAI,
  ANTHROPIC,
  VLLM,
  SGLANG,
  TGI,
  LLAMA_CPP,
  XAI,
  MISTRAL,
  DEEPSEEK,
  OPENROUTER,
  GOOGLE,
  DASHSCOPE,
  GROQ,
  EMBEDDERS,
];
