import { isRecord, record } from '../json/json-guard.ts';

/** Part types whose payload is no text, and whose tokens nothing in the request bounds. */
export const UNBOUNDED_PARTS = new Set([
  'audio_url',
  'container_upload',
  'document',
  'document_url',
  'file',
  'input_file',
  'input_video',
  'item_reference',
  'media',
  'video',
  'video_url',
]);
export const IMAGE_PARTS = new Set(['computer_screenshot', 'image', 'image_url', 'input_image']);
export const AUDIO_PARTS = new Set(['audio', 'input_audio']);
/** Part types whose tokens stand in them as text, addresses too. */
export const TEXT_PART =
  /^(?:compaction|input_text|output_text|reasoning|redacted_thinking|refusal|\w+_text|text|thinking|tool_\w+|\w+_(?:call|output|result|use))$/;

const PLAIN_TEXT = /^(?:\w+_)?text$/;
/** Members of a part that hold what is no text; some servers (vLLM) read them whatever the type says. */
const MEDIA_MEMBERS = [
  'audio_url',
  'document_url',
  'file',
  'file_url',
  'image_url',
  'input_audio',
  'video_url',
];

/** Returns whether a part of text names media beside it. */
export function hasMedia(type: string, part: unknown): boolean {
  const members = record(part);
  return PLAIN_TEXT.test(type) && MEDIA_MEMBERS.some((name) => (members[name] ?? null) !== null);
}

const URL_START = /^\s*(?:https?|gs|s3|data|file):/i;
/** Values of a part checked for a reference; real parts have a handful. */
const REFERENCE_DEPTH_MAX = 4;

/** Returns whether a part of an unknown kind names input that is not in it: by an address, or by the id of a file. */
export function refersElsewhere(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return URL_START.test(value);
  if (depth >= REFERENCE_DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.some((item) => refersElsewhere(item, depth + 1));
  if (!isRecord(value)) return false;
  return Object.entries(value).some(
    ([key, item]) => key === 'file_id' || refersElsewhere(item, depth + 1),
  );
}
